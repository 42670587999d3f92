-- A store of version 7, with rows in its tables.
PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
CREATE TABLE answers (
    tenant TEXT NOT NULL,
    key TEXT NOT NULL,
    request BLOB NOT NULL CHECK (length(request) = 32),
    document TEXT NOT NULL,
    answered_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
) STRICT;
INSERT INTO "answers" VALUES('a','k',X'2D711642B726B04401627CA9FBAC32F5C8530FB1903CC4DB02258717921A4881','d',110);
CREATE TABLE asked (
    decision_id TEXT PRIMARY KEY,
    facts TEXT NOT NULL
) STRICT;
CREATE TABLE awaited (
    tenant TEXT NOT NULL,
    decision_id TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, decision_id)
) STRICT;
INSERT INTO "awaited" VALUES('local','6f1c1c62-7d1a-4d4e-9c1a-000000000003',1000);
CREATE TABLE "chains" (
    chain_id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (tenant, name)
) STRICT;
INSERT INTO "chains" VALUES(1,'local','main');
CREATE TABLE clock (
    only INTEGER PRIMARY KEY CHECK (only = 0),
    latest INTEGER NOT NULL
) STRICT;
INSERT INTO "clock" VALUES(0,111);
CREATE TABLE decisions (
    sequence INTEGER PRIMARY KEY,
    decision_id TEXT NOT NULL UNIQUE,
    decided_at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    position INTEGER NOT NULL UNIQUE,
    document TEXT NOT NULL
, tenant TEXT NOT NULL DEFAULT '', agent TEXT, class TEXT, mode TEXT NOT NULL DEFAULT '', expires_at INTEGER NOT NULL DEFAULT 0, candidate TEXT, action TEXT, review INTEGER NOT NULL DEFAULT 0, allowed INTEGER NOT NULL DEFAULT 0, hash BLOB, subject TEXT NOT NULL DEFAULT '', wanted INTEGER NOT NULL DEFAULT 1) STRICT;
INSERT INTO "decisions" VALUES(1,'6f1c1c62-7d1a-4d4e-9c1a-000000000000',100,'replan_required','f',0,'{"position":0}','local',NULL,NULL,'m',1000,NULL,NULL,1,0,X'6E340B9CFFB37A989CA544E6BB780A2C78901D3FB33738768511A30617AFA01D','f',1);
INSERT INTO "decisions" VALUES(2,'6f1c1c62-7d1a-4d4e-9c1a-000000000001',101,'replan_required','f',1,'{"position":1}','local',NULL,NULL,'m',1000,NULL,NULL,1,0,X'4BF5122F344554C53BDE2EBB8CD2B7E3D1600AD631C385A5D7CCE23C7785459A','f',1);
INSERT INTO "decisions" VALUES(3,'6f1c1c62-7d1a-4d4e-9c1a-000000000002',102,'replan_required','f',2,'{"position":2}','a',NULL,NULL,'m',1000,NULL,NULL,1,0,X'DBC1B4C900FFE48D575B5DA5C638040125F65DB0FE3E24494B76EA986457D986','f',1);
INSERT INTO "decisions" VALUES(4,'6f1c1c62-7d1a-4d4e-9c1a-000000000003',103,'allow','f',3,'{"position":3}','local',NULL,NULL,'m',1000,'c',NULL,0,1,X'084FED08B978AF4D7D196A7446A86B58009E636B611DB16211B65A9AADFF29C5','f',1);
INSERT INTO "decisions" VALUES(5,'6f1c1c62-7d1a-4d4e-9c1a-000000000004',104,'replan_required','g',4,'{"position":4}','local',NULL,NULL,'m',1000,NULL,NULL,1,0,X'E52D9C508C502347344D8C07AD91CBD6068AFC75FF6292F062A09CA381C89E71','g',1);
INSERT INTO "decisions" VALUES(6,'6f1c1c62-7d1a-4d4e-9c1a-000000000005',105,'replan_required','f',5,'{"position":5}','local',NULL,NULL,'m',1000,NULL,NULL,1,0,X'E77B9A9AE9E30B0DBDB6F510A264EF9DE781501D7B6B92AE89EB059C5AB743DB','f',1);
INSERT INTO "decisions" VALUES(7,'6f1c1c62-7d1a-4d4e-9c1a-000000000006',106,'replan_required','f',6,'{"position":6}','a',NULL,NULL,'m',1000,NULL,NULL,1,0,X'67586E98FAD27DA0B9968BC039A1EF34C939B9B8E523A8BEF89D478608C5ECF6','f',1);
CREATE TABLE executions (
    sequence INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    decision_id TEXT NOT NULL,
    executed INTEGER NOT NULL,
    reported_at INTEGER NOT NULL,
    document TEXT NOT NULL
) STRICT;
CREATE TABLE findings (
    sequence INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    decision_id TEXT NOT NULL,
    code TEXT NOT NULL,
    message TEXT NOT NULL,
    found_at INTEGER NOT NULL
) STRICT;
CREATE TABLE jobs (
    job_id BLOB PRIMARY KEY CHECK (length(job_id) = 16),
    tenant TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'done', 'failed', 'cancelled')),
    request TEXT NOT NULL,
    checks INTEGER NOT NULL,
    chain TEXT NOT NULL,
    supersedes BLOB,
    owner TEXT,
    lease_until INTEGER NOT NULL,
    error TEXT,
    created_at INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;
INSERT INTO "jobs" VALUES(X'2828282828284828A828282828282828','a','waiting','{}',1,'main',NULL,'o',50,NULL,7,NULL);
CREATE TABLE probe (
    probe INTEGER PRIMARY KEY CHECK (probe = 1),
    probed INTEGER NOT NULL,
    filler BLOB NOT NULL
) STRICT;
CREATE TABLE "receipts" (
    sequence INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    receipt_id BLOB NOT NULL CHECK (length(receipt_id) = 16),
    issuer TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    content BLOB CHECK (length(content) = 32),
    verified_at INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    tier INTEGER NOT NULL,
    task_id TEXT,
    task_type TEXT,
    output TEXT,
    trust TEXT,
    superseded_by INTEGER,
    chain_id INTEGER REFERENCES "chains" (chain_id),
    position INTEGER,
    document TEXT NOT NULL,
    UNIQUE (tenant, receipt_id, issuer),
    CHECK ((chain_id IS NULL) = (position IS NULL))
) STRICT;
INSERT INTO "receipts" VALUES(1,'local',X'01010101010141018101010101010101','MCowBQYDK2VwAyEA6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=',X'ACB55F5EFE2FF9570A85C4DE803B53A71CE4A6B1E313E1FFFEC7F255E2E98C2B',X'5858F752AA3BAF45153331F76D644C876D535487E91AEB17917438910CB3F67B',1000,'error',1,NULL,NULL,'sha256:4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a',NULL,NULL,1,0,'{"vrf_version":"1.0","receipt_id":"01010101-0101-4101-8101-010101010101","verified_at":"1970-01-01T00:00:01.000Z","tier":1,"verdict":"error","results":{"total":0,"passed":0,"failed":0,"errors":0,"details":[]},"hashes":{"specification":"sha256:4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a","output":"sha256:4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a"},"metadata":{"chain_position":0,"issuer_key":"MCowBQYDK2VwAyEA6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw="},"signature":{"algorithm":"ed25519","signer_id":"MCowBQYDK2VwAyEA6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=","content_hash":"5858f752aa3baf45153331f76d644c876d535487e91aeb17917438910cb3f67b","signature":"2f551b4f1fc39bbc03dbbc71ee0250bffc1ee62a21a172a83af19e7b1802fe7594dbcd2514a40ed018085310d192461d21a643d07189c5607b5756f8ee93460c"}}');
INSERT INTO "receipts" VALUES(2,'local',X'02020202020242028202020202020202','MCowBQYDK2VwAyEA6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=',X'0F4E1A0E684CCFFDB1B2B8D90BDA787D4AED4FF9A706B4386D87D3A0E592EA10',X'B652C9D8BF5D5E61EEA5A81B1EE659F5629D41DBD5F67AC8A60A62A2B4581631',2000,'error',1,NULL,NULL,'sha256:dbc1b4c900ffe48d575b5da5c638040125f65db0fe3e24494b76ea986457d986',NULL,NULL,1,1,'{"vrf_version":"1.0","receipt_id":"02020202-0202-4202-8202-020202020202","verified_at":"1970-01-01T00:00:02.000Z","tier":1,"verdict":"error","results":{"total":0,"passed":0,"failed":0,"errors":0,"details":[]},"hashes":{"specification":"sha256:dbc1b4c900ffe48d575b5da5c638040125f65db0fe3e24494b76ea986457d986","output":"sha256:dbc1b4c900ffe48d575b5da5c638040125f65db0fe3e24494b76ea986457d986"},"metadata":{"chain_position":1,"previous_receipt":"01010101-0101-4101-8101-010101010101","previous_receipt_hash":"sha256:acb55f5efe2ff9570a85c4de803b53a71ce4a6b1e313e1fffec7f255e2e98c2b","issuer_key":"MCowBQYDK2VwAyEA6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw="},"signature":{"algorithm":"ed25519","signer_id":"MCowBQYDK2VwAyEA6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=","content_hash":"b652c9d8bf5d5e61eea5a81b1ee659f5629d41dbd5f67ac8a60a62a2b4581631","signature":"2978f9babc643e339ecac446bab7450566a095641789302fe2c5921792fb99155fdab1a73b2ee7b0535c271839ca7bbd84f900994b2aefbf5024a78859c9cd0f"}}');
INSERT INTO "receipts" VALUES(3,'local',X'14141414141444149414141414141414','MCowBQYDK2VwAyEA6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=',X'FA49FB9958C8304DD2D39FA88617FBD03F9F20E1DE73F6D07D67C774A3EE868F',X'A0B5AD3B94E9FE0711C81D6271EDF3FAE27240ECAA28DFB676A098DC200C8070',20000,'error',1,NULL,NULL,'sha256:83891d7fe85c33e52c8b4e5814c92fb6a3b9467299200538a6babaa8b452d879',NULL,NULL,NULL,NULL,'{"vrf_version":"1.0","receipt_id":"14141414-1414-4414-9414-141414141414","verified_at":"1970-01-01T00:00:20.000Z","tier":1,"verdict":"error","results":{"total":0,"passed":0,"failed":0,"errors":0,"details":[]},"hashes":{"specification":"sha256:83891d7fe85c33e52c8b4e5814c92fb6a3b9467299200538a6babaa8b452d879","output":"sha256:83891d7fe85c33e52c8b4e5814c92fb6a3b9467299200538a6babaa8b452d879"},"metadata":{"issuer_key":"MCowBQYDK2VwAyEA6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw="},"signature":{"algorithm":"ed25519","signer_id":"MCowBQYDK2VwAyEA6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=","content_hash":"a0b5ad3b94e9fe0711c81d6271edf3fae27240ecaa28dfb676a098dc200c8070","signature":"179efab7486039030aaa9ae9b81802decfd0295ef69ae73ce92c1b3c7a9634df2eaafe79c0061b9fafbf482ffdf32bfef60e06812ba8f8e0d180394ebaa59f00"}}');
CREATE TABLE "requests" (
    sequence INTEGER PRIMARY KEY,
    document TEXT NOT NULL
) STRICT;
INSERT INTO "requests" VALUES(1,'{}');
INSERT INTO "requests" VALUES(2,'{}');
CREATE TABLE "reviews" (
    sequence INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    decision_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    person TEXT NOT NULL,
    role TEXT NOT NULL,
    verdict TEXT NOT NULL,
    note TEXT NOT NULL,
    receipt_id TEXT,
    reviewed_at INTEGER NOT NULL,
    until INTEGER NOT NULL,
    UNIQUE (tenant, decision_id, person, role)
) STRICT;
CREATE TABLE "runs" (
    tenant TEXT NOT NULL,
    begun_by TEXT NOT NULL,
    run TEXT NOT NULL,
    step TEXT NOT NULL,
    version INTEGER NOT NULL,
    state TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, run, step, begun_by)
) STRICT;
INSERT INTO "runs" VALUES('local','local','r','s',1,'{}',111);
CREATE TABLE "spent" (
    tenant TEXT NOT NULL,
    content BLOB NOT NULL CHECK (length(content) = 32),
    spent_by TEXT NOT NULL,
    spent_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, content)
) STRICT;
INSERT INTO "spent" VALUES('local',X'A0B5AD3B94E9FE0711C81D6271EDF3FAE27240ECAA28DFB676A098DC200C8070','6f1c1c62-7d1a-4d4e-9c1a-000000000003',103);
CREATE TABLE spent_ids (
    receipt_id BLOB PRIMARY KEY CHECK (length(receipt_id) = 16),
    spent_by TEXT NOT NULL,
    spent_at INTEGER NOT NULL
) STRICT;
CREATE INDEX decisions_by_fingerprint ON decisions (fingerprint);
CREATE INDEX decisions_by_tenant ON decisions (tenant, sequence);
CREATE INDEX executions_by_decision ON executions (decision_id);
CREATE INDEX findings_by_tenant ON findings (tenant, sequence);
CREATE INDEX findings_by_decision ON findings (decision_id, code);
CREATE INDEX jobs_waiting ON jobs (lease_until) WHERE state = 'waiting';
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX answers_by_time ON answers (answered_at);
CREATE INDEX receipts_by_id ON "receipts" (receipt_id);
CREATE UNIQUE INDEX receipts_own ON receipts (tenant, receipt_id) WHERE trust IS NULL;
CREATE INDEX receipts_by_content ON receipts (content, tenant) WHERE content IS NOT NULL;
CREATE INDEX receipts_by_verdict ON receipts (verdict);
CREATE INDEX receipts_by_tier ON receipts (tier);
CREATE INDEX receipts_by_task ON receipts (task_id) WHERE task_id IS NOT NULL;
CREATE UNIQUE INDEX receipts_by_position ON receipts (chain_id, position) WHERE chain_id IS NOT NULL;
CREATE INDEX receipts_by_tenant ON receipts (tenant, sequence);
CREATE INDEX receipts_by_issuer ON receipts (issuer);
CREATE INDEX receipts_by_output ON receipts (output, sequence);
CREATE INDEX receipts_by_time ON receipts (verified_at);
CREATE INDEX decisions_by_subject ON decisions (tenant, subject, sequence);
CREATE INDEX decisions_to_review ON decisions (tenant, sequence) WHERE review;
CREATE INDEX reviews_by_subject ON reviews (tenant, subject);
CREATE INDEX awaited_by_end ON awaited (expires_at);
COMMIT;
PRAGMA application_id = 1886545517;
PRAGMA user_version = 7;
