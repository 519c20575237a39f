//! The certificate and its key: whether gates take them, for which names, and for how long.

use std::path::Path;

use stile_core::time::EpochSeconds;
use stile_sync_server::tls::{Chain, Own, Pair, RENEW_BEFORE_S};

use super::days;
use super::finding::Finding;
use crate::cli::tls::PairArgs;

/// The pair, if there is a good one, and what is found of it.
pub(super) fn findings(
    data: &Path,
    args: &PairArgs,
    now: EpochSeconds,
) -> (Option<Pair>, Vec<Finding>) {
    let Some(files) = args.files(data) else {
        let what = "there is no certificate: other machines reach the server by a proxy, or not";
        let todo = "`stile-server tls new` makes one, --tls-cert names one from elsewhere";
        return (None, vec![Finding::warn("tls", what, todo)]);
    };
    let pair = match Pair::load(&files) {
        Ok(pair) => pair,
        Err(error) => {
            let todo = "a running server goes on with what it has, and does not start again";
            return (None, vec![Finding::fail("tls", error.to_string(), todo)]);
        }
    };
    let own = Own::in_folder(data, None);
    let renews = own.files() == files && own.authority_file().exists();
    let found = vec![names(&pair.chain, now), end(&pair.chain, renews, now)];
    (Some(pair), found)
}

/// Whether gates take it under each of its names, whatever the time.
fn names(chain: &Chain, now: EpochSeconds) -> Finding {
    let trust = match chain.own_root {
        Some(_) => "a CA that enrolments pin",
        None => "a public CA",
    };
    // Its end is a finding of its own.
    let when = now.clamp(
        chain.leaf.not_before,
        EpochSeconds(chain.leaf.not_after.0 - 1),
    );
    let names = &chain.leaf.names;
    let refused = names.iter().find_map(|name| {
        let error = chain.as_gates_see(name, when).err()?;
        Some(format!(
            "under {trust}, gates do not take it for {name}: {error}"
        ))
    });
    let todo = "give a chain that ends in the CA itself, or make one with `stile-server tls new`";
    match refused {
        Some(refused) => Finding::fail("tls", refused, todo),
        None if names.is_empty() => Finding::fail("tls", "the certificate names nobody", todo),
        None => Finding::ok("tls", format!("for {}, under {trust}", names.join(", "))),
    }
}

fn end(chain: &Chain, renews: bool, now: EpochSeconds) -> Finding {
    let left = days(now, chain.leaf.not_after);
    let todo = "renew it: `stile-server tls renew` if `tls new` made it";
    if now < chain.leaf.not_before {
        let what = format!("good in {} days only", days(now, chain.leaf.not_before));
        return Finding::fail("expiry", what, "see whether this machine's clock is right");
    }
    if now >= chain.leaf.not_after {
        return Finding::fail(
            "expiry",
            format!("over since {} days", days(chain.leaf.not_after, now)),
            todo,
        );
    }
    let what = format!("good for {left} days");
    let is_near = chain.leaf.not_after.0.saturating_sub(now.0) < RENEW_BEFORE_S;
    match (is_near, renews) {
        (true, false) => Finding::warn("expiry", what, todo),
        (true, true) => Finding::warn(
            "expiry",
            what,
            "the server should have renewed it: see its log, or run `stile-server tls renew`",
        ),
        (false, true) => Finding::ok("expiry", what + ", and renewed by itself"),
        (false, false) => Finding::ok("expiry", what),
    }
}

#[cfg(test)]
mod tests {
    use stile_sync_server::random::SystemRandom;
    use stile_sync_server::tls::Names;

    use super::super::finding::Grade;
    use super::*;

    /// 2026-10-01.
    const NOW: EpochSeconds = EpochSeconds(1_790_820_000);
    const DAY_S: i64 = 24 * 3600;

    fn chain() -> Chain {
        let folder = tempfile::tempdir().unwrap();
        let names = Names::new(&["museum.lan"], &[]).unwrap();
        let own = Own::in_folder(folder.path(), None);
        own.make(&names, NOW, &SystemRandom).unwrap().chain
    }

    #[test]
    fn the_end_of_a_certificate_is_said_a_month_before() {
        let chain = chain();
        let at = |days: i64| {
            let now = EpochSeconds(NOW.0 + days * DAY_S);
            let found = end(&chain, false, now);
            (found.grade, found.what)
        };
        assert_eq!(at(0), (Grade::Ok, "good for 397 days".into()));
        assert_eq!(at(367), (Grade::Ok, "good for 30 days".into()));
        assert_eq!(at(368), (Grade::Warn, "good for 29 days".into()));
        assert_eq!(at(396), (Grade::Warn, "good for 1 days".into()));
        assert_eq!(at(397), (Grade::Fail, "over since 0 days".into()));
        assert_eq!(at(400), (Grade::Fail, "over since 3 days".into()));
        assert_eq!(at(-3), (Grade::Fail, "good in 2 days only".into()));
        // Names are judged apart from the time.
        for days in [-3, 0, 400] {
            let now = EpochSeconds(NOW.0 + days * DAY_S);
            assert_eq!(names(&chain, now).grade, Grade::Ok);
        }
    }

    #[test]
    fn a_server_that_renews_by_itself_and_has_not_is_told_of() {
        let chain = chain();
        assert_eq!(end(&chain, true, NOW).grade, Grade::Ok);
        let late = end(&chain, true, EpochSeconds(NOW.0 + 380 * DAY_S));
        assert_eq!(late.grade, Grade::Warn);
        assert!(late.todo.unwrap().contains("log"));
    }
}
