"""Reads messages of OTLP as a collector does, and looks their names up in the semantic conventions.

Standard input has one message a line: {"path": ..., "message": ...}. What no package knows is printed, each with its place.
"""

import base64
import json
import sys
import warnings
from importlib import import_module

from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

# Those for generative AI have moved to a separate repository, which does not publish a package yet.
warnings.simplefilter("ignore", DeprecationWarning)


def module(name):
    return import_module("opentelemetry.semconv._incubating.attributes." + name + "_attributes")


KNOWN = {
    value
    for name in ("error", "gen_ai", "http", "jsonrpc", "mcp", "rpc", "service")
    for constant, value in vars(module(name)).items()
    if constant.isupper() and isinstance(value, str)
}
METHODS = {one.value for one in module("mcp").McpMethodNameValues}
OPERATIONS = {one.value for one in module("gen_ai").GenAiOperationNameValues}
KINDS = {1: "internal", 2: "server"}


def with_bytes(json_value):
    """The JSON encoding of OTLP has ids in hex; that of Protocol Buffers has all bytes in base64."""
    if isinstance(json_value, list):
        return [with_bytes(one) for one in json_value]
    if not isinstance(json_value, dict):
        return json_value
    ids = ("traceId", "spanId", "parentSpanId")
    return {
        name: base64.b64encode(bytes.fromhex(value)).decode() if name in ids else with_bytes(value)
        for name, value in json_value.items()
    }


def look(place, attributes):
    found = {one.key: one.value for one in attributes}
    for name in found:
        if name not in KNOWN:
            print(f"{place}: {name}")
    if "gen_ai.operation.name" in found:
        assert found["gen_ai.operation.name"].string_value in OPERATIONS
    if "mcp.method.name" in found and found["mcp.method.name"].string_value not in METHODS:
        print(f"{place}: the method {found['mcp.method.name'].string_value}")
    return found


for line in sys.stdin:
    told = json.loads(line)
    if told["path"].endswith("/v1/traces"):
        message = json_format.ParseDict(with_bytes(told["message"]), ExportTraceServiceRequest())
        for resource in message.resource_spans:
            look("resource", resource.resource.attributes)
            for span in (span for scope in resource.scope_spans for span in scope.spans):
                assert len(span.trace_id) == 16 and len(span.span_id) == 8, span
                assert len(span.parent_span_id) in (0, 8) and span.kind in KINDS, span
                assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano, span
                look(f"{KINDS[span.kind]} span", span.attributes)
    else:
        message = json_format.ParseDict(with_bytes(told["message"]), ExportLogsServiceRequest())
        for resource in message.resource_logs:
            for record in (record for scope in resource.scope_logs for record in scope.log_records):
                # The other lines of the log have the names of this program.
                if record.event_name:
                    look(f"event {record.event_name}", record.attributes)
