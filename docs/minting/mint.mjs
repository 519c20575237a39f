// Mints a v1 code: node mint.mjs VENUE TICKET HOLDER EXPIRES_AT [REVISION], with the venue's minting
// key in STILE_MINTING_KEY, as 64 hexadecimal digits. docs/minting.md says what each of them is.
import { createHmac } from "node:crypto";

const hmac = (key, message) => createHmac("sha256", key).update(message);

function mint(mintingKey, venue, ticket, holder, expiresAt, revision = 0) {
  const info = `${venue}:${ticket}` + (revision === 0 ? "" : `:${revision}`);
  const ticketKey = hmac(mintingKey, info + "\x01").digest();
  const tag = hmac(ticketKey, `${ticket}:${holder}:${expiresAt}`).digest("base64url");
  return `${ticket}-${expiresAt}-${tag}`;
}

const [venue, ticket, holder, expiresAt, revision = "0"] = process.argv.slice(2);
const key = Buffer.from(process.env.STILE_MINTING_KEY, "hex");
console.log(mint(key, venue, ticket, holder, Number(expiresAt), Number(revision)));
