#!/usr/bin/env python3
"""Mints a v1 code: mint.py VENUE TICKET HOLDER EXPIRES_AT [REVISION], with the venue's minting key
in STILE_MINTING_KEY, as 64 hexadecimal digits. docs/minting.md says what each of them is."""
import base64
import hmac
import os
import sys


def mint(minting_key, venue, ticket, holder, expires_at, revision=0):
    info = f"{venue}:{ticket}" + (f":{revision}" if revision else "")
    ticket_key = hmac.digest(minting_key, info.encode() + b"\x01", "sha256")
    tag = hmac.digest(ticket_key, f"{ticket}:{holder}:{expires_at}".encode(), "sha256")
    return f"{ticket}-{expires_at}-{base64.urlsafe_b64encode(tag).decode().rstrip('=')}"


if __name__ == "__main__":
    key = bytes.fromhex(os.environ["STILE_MINTING_KEY"])
    venue, ticket, holder, expires_at, *revision = sys.argv[1:]
    print(mint(key, venue, ticket, holder, int(expires_at), *map(int, revision)))
