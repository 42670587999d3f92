// A certified issuer of OpenID Connect (oidc-provider) on the loopback. Each line on standard input is a command, and has one line as its
// answer, which begins with `answer `: `keys` replaces its keys, `agent GROUP ALG` is the access token of a program, `person GROUP` the ID token
// of a person who signs in.

import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import http from 'node:http';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const require = createRequire(`${process.env.PROOFMARK_NODE_MODULES}/`);
const { default: Provider } = await import(pathToFileURL(require.resolve('oidc-provider')).href);

const AUDIENCE = 'urn:example:proofmark';
const REDIRECT = 'https://app.example.org/callback';
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'];

const server = http.createServer().listen(0, '127.0.0.1');
await new Promise((listening) => server.once('listening', listening));
const issuer = `http://127.0.0.1:${server.address().port}`;
let groups = [];
let algorithm = 'RS256';

function newKey(alg) {
  const pair = {
    RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
    PS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    EdDSA: () => generateKeyPairSync('ed25519'),
  }[alg]();
  return { ...pair.privateKey.export({ format: 'jwk' }), kid: randomBytes(8).toString('hex'), use: 'sig', alg };
}

function provider() {
  const client = { client_secret: 'secret', token_endpoint_auth_method: 'client_secret_post' };
  return new Provider(issuer, {
    jwks: { keys: ALGORITHMS.map(newKey) },
    cookies: { keys: ['cookie'] },
    clients: [
      { ...client, client_id: 'robot', grant_types: ['client_credentials'], response_types: [], redirect_uris: [] },
      { ...client, client_id: AUDIENCE, redirect_uris: [REDIRECT] },
    ],
    claims: { openid: ['sub', 'groups'], email: ['email'] },
    conformIdTokenClaims: false,
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, groups, email: 'ann@example.org' }) }),
    extraTokenClaims: () => ({ groups }),
    features: {
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: (context) => (context.oidc.client.clientId === 'robot' ? AUDIENCE : undefined),
        getResourceServerInfo: () => ({ scope: 'decide', accessTokenFormat: 'jwt', jwt: { sign: { alg: algorithm } } }),
      },
    },
  });
}

async function token(form) {
  const answer = await fetch(`${issuer}/token`, { method: 'POST', body: new URLSearchParams({ client_secret: 'secret', ...form }) });
  const body = await answer.json();
  if (!answer.ok) throw new Error(JSON.stringify(body));
  return body;
}

// The authorization code flow with PKCE, in the place of a browser.
async function person() {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    client_id: AUDIENCE, redirect_uri: REDIRECT, response_type: 'code', scope: 'openid email', code_challenge_method: 'S256',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'), nonce: 'n', state: 's',
  });
  const cookies = new Map();
  let place = `${issuer}/auth?${query}`;
  let form;
  while (!place.startsWith(REDIRECT)) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(place, { method: form ? 'POST' : 'GET', body: form, redirect: 'manual', headers: { cookie } });
    for (const set of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(set);
      cookies.set(name, value);
    }
    form = undefined;
    if (answer.headers.has('location')) {
      place = new URL(answer.headers.get('location'), issuer).href;
      continue;
    }
    const page = await answer.text();
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
    if (!prompt) throw new Error(page);
    form = new URLSearchParams({ prompt, login: 'ann', password: 'x' });
  }
  const code = new URL(place).searchParams.get('code');
  const got = await token({
    grant_type: 'authorization_code', client_id: AUDIENCE, code, redirect_uri: REDIRECT, code_verifier: verifier,
  });
  return got.id_token;
}

let callback = provider().callback();
server.on('request', (request, response) => callback(request, response));
const answer = (text) => console.log(`answer ${text}`);
answer(issuer);
for await (const line of createInterface({ input: process.stdin })) {
  const [command, group, named] = line.split(' ');
  [groups, algorithm] = [[group], named];
  if (command === 'keys') {
    callback = provider().callback();
    answer('ok');
  } else if (command === 'agent') {
    answer((await token({ grant_type: 'client_credentials', client_id: 'robot', scope: 'decide' })).access_token);
  } else {
    answer(await person());
  }
}
process.exit();
