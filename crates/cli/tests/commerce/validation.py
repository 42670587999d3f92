"""Reads a call of ERC-8004's `validationResponse` as a contract would, and checks the hash of the file that it is about."""

import json
import sys

from eth_abi import decode
from eth_utils import keccak

call = json.load(sys.stdin)
data = bytes.fromhex(call["data"][2:])
assert data[:4] == keccak(b"validationResponse(bytes32,uint8,string,bytes32,string)")[:4]
request, response, uri, digest, tag = decode(["bytes32", "uint8", "string", "bytes32", "string"], data[4:], strict=True)
receipt = open(sys.argv[1], "rb").read()
assert digest == keccak(receipt.removesuffix(b"\n"))
print(request.hex(), response, uri, tag)
