"""How the kinds of ticket files are written that Schemathesis does not know."""
import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def ndjson(_context, value):
    lines = value if isinstance(value, list) else [value]
    return b"".join(
        line if isinstance(line, bytes)
        else (line if isinstance(line, str) else json.dumps(line)).encode() + b"\n"
        for line in lines
    )


@schemathesis.serializer("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")
def workbook(_context, value):
    return value if isinstance(value, bytes) else str(value).encode()
