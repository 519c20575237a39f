//! API keys: shown once, good until they end or are revoked, known to nobody after.

use stile_core::time::EpochSeconds;
use stile_sync_server::ServerError;
use stile_sync_server::store::{ApiKeyId, Scope};

use super::bed::{Bed, NOW};

async fn bed() -> (Bed, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (Bed::in_folder(folder.path()).await, folder)
}

#[tokio::test]
async fn a_key_is_good_until_it_ends_or_is_revoked() {
    let (bed, _folder) = bed().await;
    let venues = [bed.venue.clone()];
    let end = EpochSeconds(NOW.seconds().0 + 60);
    let (id, text) = bed
        .server
        .add_api_key(&venues, &[Scope::RecordsRead], "mis", Some(end))
        .await
        .unwrap();
    assert!(
        !format!("{text:?}").contains(&text.as_str()[10..]),
        "it is not printed"
    );
    let key = bed
        .server
        .authenticate_api_key(text.as_str())
        .await
        .unwrap();
    assert_eq!(
        (key.id, key.name.as_str(), key.good_at().collect()),
        (id, "mis", vec![&venues[0]])
    );
    assert!(key.may(Scope::RecordsRead) && !key.may(Scope::TicketsWrite));
    bed.clock.move_by(60_000);
    let ended = bed.server.authenticate_api_key(text.as_str()).await;
    assert!(matches!(ended, Err(ServerError::Unauthorized(_))));
    let (id, text) = bed
        .server
        .add_api_key(&venues, &[Scope::Admin], "", None)
        .await
        .unwrap();
    let key = bed
        .server
        .authenticate_api_key(text.as_str())
        .await
        .unwrap();
    assert!(Scope::ALL.into_iter().all(|scope| key.may(scope)));
    bed.server.revoke_api_key(id).await.unwrap();
    bed.server.revoke_api_key(id).await.unwrap();
    let revoked = bed.server.authenticate_api_key(text.as_str()).await;
    assert!(matches!(revoked, Err(ServerError::Unauthorized(_))));
    let unknown = bed.server.revoke_api_key(ApiKeyId(99)).await;
    assert!(matches!(unknown, Err(ServerError::NotFound("API key"))));
    assert_eq!(bed.server.api_keys().await.unwrap().len(), 2);
}

#[tokio::test]
async fn what_is_no_key_is_unauthorized_whatever_its_shape() {
    let (bed, _folder) = bed().await;
    let venues = [bed.venue.clone()];
    let (_, text) = bed
        .server
        .add_api_key(&venues, &[Scope::Admin], "", None)
        .await
        .unwrap();
    let good = text.as_str();
    let long = format!("stile_key_{}", "A".repeat(100_000));
    for text in [
        "",
        "stile_key_",
        &good[1..],
        &good[..good.len() - 1],
        &long,
        "票",
    ] {
        let refused = bed.server.authenticate_api_key(text).await;
        assert!(
            matches!(refused, Err(ServerError::Unauthorized(_))),
            "{text:.20}"
        );
    }
}

#[tokio::test]
async fn a_key_needs_a_venue_a_scope_and_a_future() {
    let (bed, _folder) = bed().await;
    let (venues, scopes) = ([bed.venue.clone()], [Scope::Admin]);
    let add = |venues, scopes, end: Option<i64>| {
        bed.server
            .add_api_key(venues, scopes, "", end.map(EpochSeconds))
    };
    let field = |refused: Result<_, ServerError>| match refused {
        Err(ServerError::Invalid { field, .. }) => field,
        other => panic!("it must be refused: {other:?}"),
    };
    assert_eq!(field(add(&[], &scopes, None).await), "venues");
    assert_eq!(field(add(&venues, &[], None).await), "scopes");
    assert_eq!(
        field(add(&venues, &scopes, Some(NOW.seconds().0)).await),
        "expires_at"
    );
    let missing = ["museum-99".parse().unwrap()];
    assert!(matches!(
        add(&missing, &scopes, None).await,
        Err(ServerError::NotFound("venue"))
    ));
}
