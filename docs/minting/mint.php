<?php
// Mints a v1 code: php mint.php VENUE TICKET HOLDER EXPIRES_AT [REVISION], with the venue's minting
// key in STILE_MINTING_KEY, as 64 hexadecimal digits. docs/minting.md says what each of them is.
declare(strict_types=1);

function mint(string $mintingKey, string $venue, string $ticket, string $holder,
              int $expiresAt, int $revision = 0): string
{
    $info = "$venue:$ticket" . ($revision === 0 ? '' : ":$revision");
    $ticketKey = hash_hmac('sha256', $info . "\x01", $mintingKey, true);
    $tag = hash_hmac('sha256', "$ticket:$holder:$expiresAt", $ticketKey, true);
    return "$ticket-$expiresAt-" . rtrim(strtr(base64_encode($tag), '+/', '-_'), '=');
}

[, $venue, $ticket, $holder, $expiresAt] = $argv;
$key = hex2bin(getenv('STILE_MINTING_KEY'));
echo mint($key, $venue, $ticket, $holder, (int) $expiresAt, (int) ($argv[5] ?? 0)), "\n";
