#!/usr/bin/env python3
"""Recomputes every known answer in this folder and fails on any difference.

Independent of the Rust code on purpose: standard library, and `cryptography` for Ed25519.
Each `<section>.json` holds vectors of {"name", "in", "out"}; the function of that name in
SECTIONS turns "in" into "out". To add a section: write its function, list it, add its file with
"in" only, run with --write, and read what was written before it is believed.
"""

import base64
import hashlib
import hmac
import json
import pathlib
import struct
import sys

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

HERE = pathlib.Path(__file__).resolve().parent


# --- primitives -----------------------------------------------------------------------------

def hmac_sha256(key, message):
    return hmac.new(key, message, hashlib.sha256).digest()


def hkdf32(ikm, salt, info):
    """RFC 5869 with SHA-256, 32 bytes: one block of expansion."""
    return hmac_sha256(hmac_sha256(salt, ikm), info + b"\x01")


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def base32(data):
    return base64.b32encode(data).rstrip(b"=").decode()


def base64_padded(data):
    return base64.b64encode(data).decode()


def signing_key(seed_hex):
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(seed_hex))


def public_bytes(key):
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


# --- keys and numbers -----------------------------------------------------------------------

def ticket_key(given):
    info = f'{given["venue_id"]}:{given["ticket_id"]}'
    if given["revision"] > 0:
        info += f':{given["revision"]}'
    key = hkdf32(bytes.fromhex(given["issuer_secret_hex"]), b"stile/v1", info.encode())
    return {"ticket_key_hex": key.hex()}


def rotation_key(given):
    info = f'{given["venue_id"]}:{given["ticket_number"]}:{given["revision"]}'
    key = hkdf32(bytes.fromhex(given["issuer_secret_hex"]), b"stile/rot", info.encode())
    return {"rotation_key_hex": key.hex()}


def ticket_number(given):
    message = given["venue_id"].encode() + b"\0" + given["ticket_id"].encode()
    digest = hmac_sha256(bytes.fromhex(given["numbering_secret_hex"]), message)
    number = int.from_bytes(digest[:8], "big") & (2**63 - 1)
    return {"ticket_number": str(number or 1)}


# --- codes ----------------------------------------------------------------------------------

def v1(given):
    """Under "shared_key_hex", or under the ticket's key, derived from the issuer secret."""
    if "shared_key_hex" in given:
        key = bytes.fromhex(given["shared_key_hex"])
    else:
        key = bytes.fromhex(ticket_key(given)["ticket_key_hex"])
    expiry = f'{given["expires_at"]:010d}'
    signed = f'{given["ticket_id"]}:{given["holder"]}:{expiry}'.encode()
    return {"code": f'{given["ticket_id"]}-{expiry}-{base64url(hmac_sha256(key, signed))}'}


def payload(version, given):
    last_four = 0xFFFF if given["last_four"] is None else int(given["last_four"])
    return struct.pack(
        ">BBHQIHIBBHB", version, given["kid"], given["venue_number"],
        int(given["ticket_number"]), given["not_before"], given["window_min"],
        given["issued_at"], given["ttl_5min"], given["admits"], last_four, given["revision"])


def signed_payload(version, given):
    key = signing_key(given["code_seed_hex"])
    data = payload(version, given)
    signature = key.sign(f"gate-code/v{version}".encode() + b"\0" + data)
    return data, signature, {
        "public_key_hex": public_bytes(key).hex(),
        "payload_hex": data.hex(),
    }


def g2(given):
    data, signature, out = signed_payload(2, given)
    return {**out, "code": "G2" + base32(data + signature)}


def g3(given):
    data, signature, out = signed_payload(3, given)
    key = bytes.fromhex(rotation_key(given)["rotation_key_hex"])
    counter = given["t"] // 30
    tag = hmac_sha256(key, b"gate-rot/v1\0" + signature[:16] + struct.pack(">I", counter))[:8]
    whole = data + signature + bytes([counter & 0xFF]) + tag
    return {
        **out,
        "signed_hex": (data + signature).hex(),
        "rotation_key_hex": key.hex(),
        "code": "G3" + base32(whole),
    }


def opaque(given):
    message = b"stile/opaque/v1\0" + given["venue_id"].encode() + b"\0" + given["code"].encode()
    return {"hash_hex": hashlib.sha256(message).digest()[:16].hex()}


def document(given):
    """An identity card's 18 characters with their check digit, else a passport's number."""
    number = given["document"].upper()
    is_card = len(number) == 18 and number[:17].isdigit() and number[17] in "0123456789X"
    if is_card:
        weights = [2 ** (17 - place) % 11 for place in range(17)]
        total = sum(int(digit) * weight for digit, weight in zip(number, weights))
        assert number[17] == "10X98765432"[total % 11], "wrong check digit"
    kind = "id-card" if is_card else "passport"
    tag = hmac_sha256(bytes.fromhex(given["key_hex"]), f"{kind}:{number}".encode())
    return {"type": kind, "hash_hex": tag[:5].hex()}


# --- signed statements ----------------------------------------------------------------------

def signed(given):
    key = signing_key(given["seed_hex"])
    data = given["payload"].encode()
    signature = key.sign(given["domain"].encode() + b"\0" + data)
    return {
        "payload": base64_padded(data),
        "kid": given["kid"],
        "signature": base64_padded(signature),
    }


def key_manifest(given):
    root = public_bytes(signing_key(given["seed_hex"]))
    fingerprint = hashlib.sha256(b"stile/root-fingerprint/v1\0" + root).hexdigest()
    domain = {"domain": "stile/key-manifest/v1"}
    return {"root_fingerprint": fingerprint, "signed": signed({**given, **domain})}


def enrolment_digits(given):
    """The six digits that a device shows and an operator gives at the server."""
    message = b"stile/enrolment-digits/v1\0" + hashlib.sha256(given["token"].encode()).digest()
    message += bytes.fromhex(given["root_fingerprint"])
    message += bytes.fromhex(given["device_public_key_hex"])
    first = struct.unpack(">Q", hashlib.sha256(message).digest()[:8])[0]
    return {"digits": f"{first % 1_000_000:06}"}


# --- lists ----------------------------------------------------------------------------------

def short(text):
    data = text.encode()
    return bytes([len(data)]) + data


def long(text):
    data = text.encode()
    return struct.pack(">H", len(data)) + data


def list_row(given):
    """One row of a list: see the layout in core's whitelist/row.rs."""
    t = given
    standing = {"live": 1, "moved": 2, "deleted": 3}[t["standing"]]
    of = {None: 0, "phone": 1, "document": 2}[t["last_four_of"]]
    status = {"pending": 1, "valid": 2, "blocked": 3, "cancelled": 4}[t["status"]]
    causes = [None, "visitor", "operator", "refunded", "expired", "session_cancelled"]
    no_time = 2**63 - 1
    when = lambda at: struct.pack(">q", no_time if at is None else at)
    key = lambda text: bytes([len(text) // 2]) + bytes.fromhex(text)
    row = bytes([2, standing]) + struct.pack(">Q", int(t["ticket_number"]))
    row += short(t["ticket_id"]) + short(t["order_number"]) + short(t["session_id"])
    row += bytes([len(t["zones"])]) + b"".join(short(zone) for zone in t["zones"])
    row += long(t["label"]) + long(t["holder_mask"])
    row += struct.pack(">H", 0xFFFF if t["last_four"] is None else int(t["last_four"]))
    row += bytes([of]) + long(t["category"]) + long(t["attention"])
    row += long(t["source"]) + long(t["age_group"])
    row += bytes([t["admits"], status, causes.index(t["cancel_cause"]), t["revision"]])
    row += when(t["admit_from"]) + when(t["admit_until"])
    row += key(t["ticket_key_hex"]) + key(t["rotation_key_hex"])
    hashes = t["opaque_hashes_hex"]
    row += bytes([len(hashes)]) + b"".join(bytes.fromhex(one) for one in hashes)
    hashes = t["document_hashes_hex"]
    row += bytes([len(hashes)]) + b"".join(bytes.fromhex(one) for one in hashes)
    if t["standing"] == "moved":
        moved = t["moved_to"]
        row += short(moved["session_id"]) + moved["service_day"].encode()
        row += struct.pack(">q", moved["admit_from"])
    leaf = hashlib.sha256(b"stile/whitelist-row/v1\0" + row).hexdigest()
    bucket = hashlib.sha256(struct.pack(">Q", int(t["ticket_number"]))).digest()[0]
    return {"row_hex": row.hex(), "leaf_hex": leaf, "bucket": bucket}


def list_manifest(given):
    """The digest of a list's rows, and its manifest as the list key signs it."""
    tickets = list(given["tickets"])
    series = given.get("series")
    if series:  # the same ticket again and again, under other numbers and ids
        for n in range(series["count"]):
            number = str(series["first"] + n * series["step"])
            tickets.append(dict(series["ticket"], ticket_number=number, ticket_id=f"T{n}"))
    buckets = [[] for _ in range(256)]
    for ticket in tickets:
        row = list_row(ticket)
        buckets[row["bucket"]].append(bytes.fromhex(row["leaf_hex"]))
    whole = hashlib.sha256()
    for leaves in buckets:
        whole.update(hashlib.sha256(b"".join(sorted(leaves))).digest())
    digest = whole.hexdigest()
    manifest = dict(given["manifest"])
    manifest["count"] = len(tickets)
    manifest["digest"] = digest
    manifest["settings_digest"] = hashlib.sha256(given["settings"].encode()).hexdigest()
    text = json.dumps(manifest, ensure_ascii=False, separators=(",", ":"))
    statement = {"domain": "stile/whitelist/v1", "seed_hex": given["seed_hex"],
                 "kid": given["kid"], "payload": text}
    return {"digest_hex": digest, "manifest": text, "signed": signed(statement)}


SECTIONS = {
    "ticket_key": ticket_key,
    "rotation_key": rotation_key,
    "ticket_number": ticket_number,
    "v1": v1,
    "g2": g2,
    "g3": g3,
    "opaque": opaque,
    "document": document,
    "signed": signed,
    "key_manifest": key_manifest,
    "enrolment_digits": enrolment_digits,
    "list_row": list_row,
    "list_manifest": list_manifest,
}

# The answers that the format's description prints: no --write can change these. Section, name of
# the vector, field, value.
PRINTED = [
    ("v1", "printed: shared key", "code",
     "1234567890-1790000400-7nL2KaEaNxd5sMTG1Kg4Dvuh7D1ibyBSFDDlZuLYqtA"),
    ("ticket_key", "printed", "ticket_key_hex",
     "8b6787b4f3f8b45d64b247f0111ca18bfb1a94a31e8e46c08ab0dea2070e9b48"),
    ("v1", "printed: derived key", "code",
     "1234567890-1790000400-XnF2GjSXFbFiCrjnzDznNjwcs4xBUufdFzgZ8-vQhWk"),
    ("g2", "printed", "public_key_hex",
     "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"),
    ("g2", "printed", "payload_hex",
     "020101010123456789abcdef6ab1147000966ab120f01801162e00"),
    ("g2", "printed", "code",
     "G2AIAQCAIBENCWPCNLZXXWVMIUOAAJM2VREDYBQAIWFYANHBBKEUBB3TJ4Q2PKCQMWYVEBLVIEP4PZ7L7SRFBNLEARX6"
     "HQDGMARKYXTCELMQORXZ4GXSY554RWREQDVQR4R7XXPHKISYQKTNYSBE"),
    ("g3", "printed", "payload_hex",
     "030101010123456789abcdef6ab1147000966ab120f00001162e00"),
    ("g3", "printed", "rotation_key_hex",
     "c56f15226e8b1dba8c76fface38856bea5ad1d83269a5b0a055412a6e559527b"),
    ("g3", "printed", "code",
     "G3AMAQCAIBENCWPCNLZXXWVMIUOAAJM2VREDYAAAIWFYAH6XYGZIADMULO25M6HYISQEHCJ7PLLYX6JXWRTQNT5FR75P"
     "YPS3PNFB62E5D5QT5H2UFQQ5A6OEENDSMZ4C26IH2HT5QXLL7SUMZZAQEU7CBWLE5ZL75S"),
]


def check(write):
    faults, outs = [], {}
    for file in sorted(HERE.glob("*.json")):
        compute = SECTIONS.get(file.stem)
        if compute is None:
            faults.append(f"{file.name}: no section of this name")
            continue
        document = json.loads(file.read_text("utf-8"))
        for vector in document["vectors"]:
            out = compute(vector["in"])
            outs[file.stem, vector["name"]] = out
            if write:
                vector["out"] = out
            elif vector.get("out") != out:
                faults.append(f'{file.name}: "{vector["name"]}" should be {json.dumps(out)}')
        if write:
            text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
            file.write_text(text, "utf-8")
    for section in SECTIONS:
        if not any(name == section for name, _ in outs):
            faults.append(f"{section}.json: missing or without vectors")
    for section, name, field, value in PRINTED:
        found = outs.get((section, name), {}).get(field)
        if found != value:
            faults.append(f'{section}.json: "{name}" {field} is {found}, printed as {value}')
    return faults, len(outs)


def main():
    faults, count = check(write="--write" in sys.argv[1:])
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults:
        sys.exit(1)
    print(f"{count} known answers recomputed, no difference")


if __name__ == "__main__":
    main()
