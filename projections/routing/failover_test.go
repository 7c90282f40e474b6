package routing

import (
	"testing"
	"time"

	"github.com/waybill/waybill/events"
)

func made(classes ...events.Class) []Made {
	status := map[events.Class]int{
		events.ClassRateLimited: 429, events.ClassWindowExhausted: 429, events.ClassCreditsExhausted: 402, events.ClassOverloaded: 529,
		events.ClassServerError: 500, events.ClassAuthFailed: 401, events.ClassForbidden: 403, events.ClassUnclassified: 403,
		events.ClassInvalidRequest: 400, events.ClassPolicyRefused: 403, events.ClassNotFound: 404, events.ClassModelUnsupported: 404, events.ClassMalformed: 200,
	}
	var out []Made
	for i, c := range classes {
		out = append(out, Made{Account: uint32(i + 1), Class: c, Status: status[c]})
	}
	return out
}

func Test_B001_B005_B010_B041_B062_B064_B065_B068_B070_failover_by_class(t *testing.T) {
	for _, row := range []struct {
		name     string
		attempts []Made
		want     Ends
	}{
		{"B068_burst", made(events.ClassRateLimited), GoesOn},
		{"B068_window", made(events.ClassWindowExhausted), GoesOn},
		{"B068_credits", made(events.ClassCreditsExhausted), GoesOn},
		{"B068_auth", made(events.ClassAuthFailed), GoesOn},
		{"B068_server_error", made(events.ClassServerError), GoesOn},
		{"B005_overloaded", made(events.ClassOverloaded), GoesOn},
		{"B062_timeout_before_the_first_token", made(events.ClassTimeout), GoesOn},
		{"B068_network", made(events.ClassNetwork), GoesOn},
		{"model unsupported by this account", made(events.ClassModelUnsupported), GoesOn},
		{"B001_an_unclassified_403_fails_over_once", made(events.ClassUnclassified), GoesOn},
		{"B001_and_belongs_to_the_request_when_a_second_account_answers_it", made(events.ClassUnclassified, events.ClassUnclassified), EndsAlike},
		{"B064_an_empty_body_fails_over_once", made(events.ClassMalformed), GoesOn},
		{"B065_two_malformed_bodies_end_the_walk", made(events.ClassMalformed, events.ClassServerError, events.ClassMalformed), EndsAlike},
		{"two kinds of answer without a row are not alike", made(events.ClassUnclassified, events.ClassMalformed), GoesOn},
		{"account-scoped classes never end it", made(events.ClassCreditsExhausted, events.ClassCreditsExhausted, events.ClassCreditsExhausted), GoesOn},
		{"nor do 5xx", made(events.ClassServerError, events.ClassServerError, events.ClassServerError), GoesOn},
		{"max_attempts does", made(events.ClassServerError, events.ClassServerError, events.ClassServerError, events.ClassServerError), EndsAttempts},
		{"B070_invalid_request", made(events.ClassInvalidRequest), EndsByClass},
		{"B041_policy_refused", made(events.ClassPolicyRefused), EndsByClass},
		{"a 404 of the client's", made(events.ClassNotFound), EndsByClass},
		{"the client left", made(events.ClassClientAborted), EndsByClass},
	} {
		t.Run(row.name, func(t *testing.T) {
			policy := events.DefaultPolicy()
			if got := MayFailover(&Walked{Attempts: row.attempts}, &policy); got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

func TestEveryClassSaysWhetherAnotherAccountMayServe(t *testing.T) {
	for c := events.ClassNone; c <= events.ClassLost; c++ {
		if int(c) >= len(goesOn) {
			t.Errorf("class %s has no word on failover", c)
		}
	}
}

func Test_R9_B010_G9_G10_G11_should_retry(t *testing.T) {
	for _, row := range []struct {
		name   string
		class  events.Class
		status int
		header string
		except events.Honour
		want   Ends
	}{
		{"B010_credits_fail_over_in_spite_of_it", events.ClassCreditsExhausted, 402, "false", events.HonourExcept402, GoesOn},
		{"G9_credits_under_403_too", events.ClassCreditsExhausted, 403, "false", events.HonourExcept402, GoesOn},
		{"G9_another_403_does_not", events.ClassUnclassified, 403, "false", events.HonourExcept402, EndsShouldRetry},
		{"G9_nor_a_429", events.ClassRateLimited, 429, "false", events.HonourExcept402, EndsShouldRetry},
		{"G10_always_stops_credits_too", events.ClassCreditsExhausted, 402, "false", events.HonourAlways, EndsShouldRetry},
		{"never stops nothing", events.ClassServerError, 500, "false", events.HonourNever, GoesOn},
		{"G11_500_false", events.ClassServerError, 500, "false", events.HonourExcept402, EndsShouldRetry},
		{"G11_500_true", events.ClassServerError, 500, "true", events.HonourExcept402, GoesOn},
		{"G11_500_unknown_value", events.ClassServerError, 500, "0", events.HonourExcept402, GoesOn},
		{"G11_in_another_case", events.ClassServerError, 503, " False ", events.HonourExcept402, EndsShouldRetry},
		{"it says nothing about a 401", events.ClassAuthFailed, 401, "false", events.HonourAlways, GoesOn},
	} {
		t.Run(row.name, func(t *testing.T) {
			policy := events.DefaultPolicy()
			policy.HonourShouldRetry = row.except
			w := Walked{Attempts: []Made{{Account: 1, Class: row.class, Status: row.status, ShouldRetry: row.header}}}
			if got := MayFailover(&w, &policy); got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

func TestWhatEndsAWalkWhateverTheClass(t *testing.T) {
	policy := events.DefaultPolicy()
	for _, row := range []struct {
		name string
		w    Walked
		want Ends
	}{
		{"bytes have reached the client", Walked{Attempts: made(events.ClassServerError), Committed: true}, EndsCommitted},
		{"only one account can serve it", Walked{Attempts: made(events.ClassCreditsExhausted), Tied: true}, EndsTied},
		{"out of time", Walked{Attempts: made(events.ClassServerError), Elapsed: 10 * time.Minute}, EndsElapsed},
		{"R20: a row of identity or abuse", Walked{Attempts: []Made{{Account: 1, Class: events.ClassForbidden, Status: 403, Onward: OnwardNever}}}, EndsByRow},
		{"R12: a row that a larger tier may serve", Walked{Attempts: []Made{{Account: 1, Class: events.ClassInvalidRequest, Status: 413, Onward: OnwardAlways}}}, GoesOn},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := MayFailover(&row.w, &policy); got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

func Test_B001_B044_B059_B064_what_the_client_gets_after_attempts(t *testing.T) {
	left := Refusal{Code: CodeExhausted, Status: 429, RetryAfter: 40, RetrySource: "a"}
	for _, row := range []struct {
		name   string
		last   Last
		status int
		code   string
		after  int64
	}{
		{"B044_a_5xx_wins_over_a_429_that_only_skipped_candidates_have", Last{Class: events.ClassServerError, Status: 500}, 500, "", 40},
		{"B044_520_is_a_bad_gateway", Last{Class: events.ClassServerError, Status: 520}, 502, CodeUpstream, 40},
		{"529 is known to clients", Last{Class: events.ClassOverloaded, Status: 529}, 529, "", 40},
		{"B059_a_429_has_our_retry_after", Last{Class: events.ClassRateLimited, Status: 429}, 429, "", 40},
		{"401 speaks of our credential", Last{Class: events.ClassAuthFailed, Status: 401}, 503, CodeUnavailable, 40},
		{"402 of our credit", Last{Class: events.ClassCreditsExhausted, Status: 402}, 503, CodeUnavailable, 40},
		{"forbidden of our account", Last{Class: events.ClassForbidden, Status: 403}, 503, CodeUnavailable, 40},
		{"B001_an_unclassified_403_is_returned_as_it_is", Last{Class: events.ClassUnclassified, Status: 403}, 403, "", 0},
		{"network", Last{Class: events.ClassNetwork}, 502, CodeUpstream, 40},
		{"timeout", Last{Class: events.ClassTimeout}, 504, CodeUpstreamTime, 40},
		{"B064_all_answers_empty", Last{Class: events.ClassMalformed, Status: 200, Empty: true}, 502, CodeEmptyResponse, 40},
		{"an HTML 200", Last{Class: events.ClassMalformed, Status: 200}, 502, CodeUpstream, 40},
		{"waiting does not mend a bad request", Last{Class: events.ClassInvalidRequest, Status: 413}, 413, "", 0},
		{"a model that nobody knows is a 404", Last{Class: events.ClassModelUnsupported, Status: 404}, 404, "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := Advise(row.last, &left)
			if got.Status != row.status || got.Code != row.code || got.RetryAfter != row.after || got.Replaced != (row.code != "") {
				t.Errorf("%+v, want status %d, code %q, retry after %d", got, row.status, row.code, row.after)
			}
		})
	}
}
