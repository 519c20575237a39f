#!/usr/bin/env python3
"""Runs the minting programs of docs/minting on the known answers of v1.json."""
import hmac
import json
import os
import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).parent
programs = here.parent.parent / "docs" / "minting"
COMMANDS = {
    "Java": ["java", str(programs / "Mint.java")],
    "Node": ["node", str(programs / "mint.mjs")],
    "PHP": ["php", str(programs / "mint.php")],
    "Python": [sys.executable, str(programs / "mint.py")],
}


def derived():
    """The vectors of derived keys that a booking system could mint: with an expiry of ten digits."""
    for vector in json.loads((here / "v1.json").read_text())["vectors"]:
        given = vector["in"]
        if "issuer_secret_hex" in given and given["expires_at"] >= 10**9:
            yield given, vector["out"]["code"]


def main():
    passed, failed = 0, 0
    for given, code in derived():
        issuer = bytes.fromhex(given["issuer_secret_hex"])
        # What `stile-server key minting` prints: HKDF's extract.
        key = hmac.digest(b"stile/v1", issuer, "sha256")
        said = [given["venue_id"], given["ticket_id"], given["holder"], str(given["expires_at"])]
        for language, command in COMMANDS.items():
            run = subprocess.run(
                [*command, *said, str(given["revision"])],
                env={**os.environ, "STILE_MINTING_KEY": key.hex()},
                capture_output=True, text=True, check=False,
            )
            if (run.returncode, run.stdout) == (0, code + "\n"):
                passed += 1
            else:
                failed += 1
                print(f"{language}: {said} gave {run.stdout!r}, not {code!r}; {run.stderr}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
