//! What every engine behind the store must do alike. Each test is a function over something that
//! makes empty stores; an engine joins by one line at the end of this file.

// Helpers of tests may fail loudly as tests may.
#![allow(clippy::unwrap_used, clippy::panic)]

mod alarms;
mod audit;
#[path = "../bed/mod.rs"]
mod bed;
mod claims;
mod conflicts;
mod documents;
mod erasure;
mod feed;
mod figures;
mod filing;
mod finality;
mod lists;
mod pulling;
mod removal;
mod reports;
mod retention;
mod sets;
mod tickets;
mod undone;
mod venues;
mod webhooks;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use stile_sync_server::store::Store;
use stile_sync_server::store::sqlite::SqliteStore;

/// Makes empty stores of one engine.
#[async_trait]
pub trait Stores: Send + Sync {
    /// A new, empty store.
    async fn make(&self) -> Arc<dyn Store>;
}

macro_rules! conformance {
    ($engine:ident, $stores:expr, { $($module:ident: $($test:ident),*;)* }) => {
        mod $engine {
            $(mod $module {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $test() {
                    $crate::$module::$test(&$stores).await;
                })*
            })*
        }
    };
}

macro_rules! every_test_for {
    ($engine:ident, $stores:expr) => {
        conformance!($engine, $stores, {
            venues:
                venues_are_numbered_in_order_and_their_ids_are_taken_once,
                a_key_manifest_is_kept_once_per_version,
                a_failed_write_leaves_nothing_behind_among_others_that_go_in,
                keys_are_good_for_their_venues_until_they_end,
                a_token_enrols_one_key_however_often_it_asks,
                a_device_waits_for_its_digits_and_the_time_they_take_is_counted,
                after_closing_nothing_is_taken;
            audit:
                an_act_is_in_the_log_as_soon_as_it_is_stored,
                what_was_not_stored_is_not_in_the_log_until_the_act_ends,
                an_audit_log_is_read_piece_by_piece;
            tickets:
                a_ticket_without_a_session_is_refused_and_the_others_go_in,
                an_upsert_that_changes_nothing_keeps_the_version,
                a_status_changes_only_when_the_line_says_so,
                a_line_that_is_out_of_date_is_refused,
                the_later_of_two_lines_of_one_ticket_stands,
                a_moved_ticket_leaves_a_tombstone_that_follows_it,
                a_ticket_that_comes_back_takes_its_tombstones_place,
                a_session_that_moves_takes_its_tickets_along,
                a_day_that_loses_its_last_session_keeps_its_list,
                cancelling_twice_is_cancelling_once,
                a_ticket_is_issued_anew_one_revision_at_a_time,
                a_move_goes_as_a_line_does_and_drops_a_window_of_its_own,
                acts_of_one_call_give_a_list_one_version,
                sessions_put_together_give_their_day_one_version,
                phones_are_kept_for_as_long_as_their_tickets_days;
            sets:
                a_set_changes_nothing_until_it_is_applied_and_then_all_at_once,
                more_than_may_vanish_leaves_all_as_it_was,
                what_vanished_is_a_tombstone_and_comes_back_as_it_was,
                records_that_waited_for_a_ticket_of_a_set_are_accepted,
                a_scan_of_what_vanished_is_marked,
                of_two_lines_of_a_ticket_the_one_of_the_higher_version_is_kept,
                a_session_that_goes_away_meanwhile_refuses_its_lines,
                a_set_that_was_given_up_is_forgotten_after_a_day;
            documents:
                a_days_key_is_kept_once_and_gives_its_list_the_next_version,
                a_document_under_another_days_key_is_refused_and_leaves_no_trace,
                a_hash_goes_along_with_its_ticket_and_keeps_its_day,
                keys_go_when_their_day_is_long_over;
            erasure:
                an_erased_holder_is_gone_from_every_list_and_stays_gone,
                an_order_is_known_by_its_tickets;
            alarms:
                of_two_that_find_the_same_one_opens_and_one_ends_it,
                an_alarm_is_its_venues,
                the_evenings_look_is_kept_once_and_only_where_a_set_was_stated;
            figures:
                what_is_counted_of_a_venue_is_as_of_that_moment;
            retention:
                hashes_go_from_lists_that_are_over_in_small_steps,
                acts_go_in_their_order_and_their_positions_are_not_given_again;
            removal:
                records_go_in_small_steps_with_all_that_hangs_on_them,
                nothing_goes_before_its_day_is_over_or_behind_what_is_kept,
                what_is_gone_before_it_was_pulled_is_said,
                an_id_is_free_again_when_nobody_can_come_back_with_it,
                what_was_set_aside_goes_and_does_not_come_back_as_new,
                what_a_webhook_has_yet_to_tell_stays_longer,
                another_venues_records_stay;
            lists:
                what_changes_gives_lists_their_next_version_and_nothing_else_does,
                a_snapshot_sees_one_moment,
                changed_buckets_are_found_and_no_others,
                rows_come_in_the_order_of_their_numbers,
                held_days_are_the_current_the_last_and_the_next;
            filing:
                a_batch_repeated_in_any_order_changes_nothing,
                an_id_with_other_bytes_is_set_aside_and_both_are_kept,
                a_taken_place_in_the_log_is_set_aside,
                an_unknown_ticket_waits_and_is_accepted_when_it_arrives,
                situation_29_a_foreign_venue_and_a_foreign_device_are_set_aside,
                a_check_in_that_names_no_ticket_is_set_aside,
                gaps_in_a_log_are_known,
                kinds_and_members_of_newer_devices_are_kept_to_the_byte,
                an_exit_of_an_unknown_ticket_is_accepted;
            conflicts:
                two_gates_that_admit_one_ticket_make_one_conflict,
                sixty_four_devices_at_once_make_one_winner,
                the_earlier_admission_wins_also_when_it_comes_later,
                a_party_fits_until_it_is_full,
                an_exit_gives_the_admission_back_where_the_session_says_so,
                a_ticket_that_admits_more_clears_its_conflict,
                a_session_that_changes_its_rule_settles_its_tickets_anew,
                checkpoints_and_days_are_apart;
            undone:
                an_undo_clears_a_conflict_and_another_admission_opens_it_again,
                an_undo_may_come_before_what_it_takes_back,
                check_ins_come_with_what_takes_them_back_after_them,
                an_undo_of_a_quarantined_admission_holds_when_its_ticket_arrives,
                only_the_same_device_takes_back_and_only_what_was_carried_out,
                an_override_is_a_check_in_and_never_loses_where_it_waived_already_used,
                a_granted_claim_ranks_before_an_earlier_admission,
                practice_counts_nowhere,
                a_scan_after_the_cancelling_is_marked_and_one_before_is_not,
                an_admission_counts_to_the_day_that_its_ticket_stands_in,
                attendance_counts_people_once;
            feed:
                entries_exits_and_undos_come_in_the_order_in_which_they_were_stored,
                an_entry_comes_again_when_its_standing_changes,
                records_that_waited_for_their_ticket_come_when_it_arrives,
                days_that_are_long_over_are_passed_over,
                no_item_is_skipped_while_many_write;
            claims:
                a_claim_holds_the_admission_and_the_other_hears_who_has_it,
                a_device_that_died_before_the_record_is_not_refused_by_its_own_claim,
                a_device_that_begins_another_log_gives_up_what_it_claimed_in_the_one_before,
                of_many_claims_at_once_exactly_one_is_granted,
                a_claim_is_answered_while_imports_are_written,
                a_refusal_frees_what_was_claimed,
                a_device_that_uploads_further_without_the_record_gives_its_claim_up,
                a_claim_without_a_record_is_over_after_ten_minutes,
                a_party_claims_until_it_is_full_and_exits_make_room,
                a_ticket_that_nobody_knows_is_granted_and_practice_holds_nothing,
                a_scan_that_was_uploaded_first_is_granted_what_it_has;
            finality:
                a_session_is_final_once_every_gate_has_reported_past_its_end,
                what_comes_afterwards_is_marked_and_counted,
                a_device_out_of_use_holds_nothing_open_until_it_reports_again,
                a_ticket_that_admits_longer_holds_its_session_open,
                a_session_that_is_put_with_a_later_end_is_open_again,
                what_was_delivered_before_a_restore_says_nothing;
            webhooks:
                of_two_servers_one_has_the_turn_until_it_is_over,
                a_message_that_fails_is_begun_again_when_its_time_has_come;
            reports:
                attendance_is_told_apart_by_what_is_asked_for,
                refusals_are_counted_by_reason_where_they_belong,
                two_rates_tell_cancelled_tickets_apart;
            pulling:
                every_record_comes_once_while_many_write,
                check_ins_are_the_admissions_at_in_gates,
                a_venue_never_sees_anothers_records;
        });
    };
}

/// One SQLite file per store, in a folder that goes with the program.
struct Sqlite;

#[async_trait]
impl Stores for Sqlite {
    async fn make(&self) -> Arc<dyn Store> {
        let folder: PathBuf = tempfile::tempdir().unwrap().keep();
        Arc::new(SqliteStore::open(&folder.join("server.db"), "1").unwrap())
    }
}

every_test_for!(sqlite, crate::Sqlite);
