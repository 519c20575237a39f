#!/usr/bin/env python3
"""Gives a server a session with three tickets, and a device that nobody has, so that cases find
something: furnish.py SERVER KEY INVITATION. Prints the device's bearer."""
import json
import sys
import urllib.parse
import urllib.request

# Any point of the curve: RFC 8032's first test vector.
PUBLIC_KEY = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="

server, key, invitation = sys.argv[1:]


def send(method, path, body, media_type="application/json"):
    headers = {"authorization": f"Bearer {key}", "content-type": media_type}
    request = urllib.request.Request(f"{server}{path}", body.encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


session = {"starts_at": "2030-05-01 09:00", "ends_at": "2030-05-01 11:00"}
send("PUT", "/v1/sessions/morning", json.dumps(session))
tickets = "".join(f"T{n},O{n},morning\n" for n in (1, 2, 3))
send("POST", "/v1/tickets", f"ticket_id,order_number,session_id\n{tickets}", "text/csv")

asked = urllib.parse.parse_qs(urllib.parse.urlsplit(invitation).query)
device = {"token": asked["token"][0], "name": "cases", "model": "none", "public_key": PUBLIC_KEY}
print(send("POST", "/v1/gate/enrol", json.dumps(device))["bearer"])
