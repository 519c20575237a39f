import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Mints a v1 code: java Mint.java VENUE TICKET HOLDER EXPIRES_AT [REVISION], with the venue's
 * minting key in STILE_MINTING_KEY, as 64 hexadecimal digits. docs/minting.md says what each is.
 */
public final class Mint {
    static String mint(byte[] mintingKey, String venue, String ticket, String holder,
            long expiresAt, int revision) throws GeneralSecurityException {
        byte[] info = bytes(venue + ":" + ticket + (revision == 0 ? "" : ":" + revision));
        byte[] block = Arrays.copyOf(info, info.length + 1);
        block[info.length] = 1;
        byte[] ticketKey = hmac(mintingKey, block);
        byte[] tag = hmac(ticketKey, bytes(ticket + ":" + holder + ":" + expiresAt));
        String text = Base64.getUrlEncoder().withoutPadding().encodeToString(tag);
        return ticket + "-" + expiresAt + "-" + text;
    }

    private static byte[] hmac(byte[] key, byte[] message) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        return mac.doFinal(message);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    public static void main(String[] args) throws GeneralSecurityException {
        byte[] key = HexFormat.of().parseHex(System.getenv("STILE_MINTING_KEY"));
        int revision = args.length > 4 ? Integer.parseInt(args[4]) : 0;
        System.out.println(
                mint(key, args[0], args[1], args[2], Long.parseLong(args[3]), revision));
    }
}
