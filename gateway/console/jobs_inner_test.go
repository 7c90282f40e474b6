package console

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybill/waybill/events"
)

func clock() events.Time { return events.At(time.Now()) }

// blocked is a question that runs until it is cancelled.
func blocked(ctx context.Context, tell func(done, head events.Position)) (any, error) {
	tell(30, 200)
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestQuestionsAreBoundedAndCanBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJobs()
		var all []*job
		for range maxRunning {
			b, err := j.run(clock, question{Title: "q", Page: "p", ask: blocked})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b)
		}
		synctest.Wait()
		if s := all[0].State(); s.Ended || s.Percent != 15 {
			t.Fatalf("%+v", s)
		}
		if _, err := j.run(clock, question{ask: blocked}); !errors.Is(err, errBusy) {
			t.Fatalf("one too many: %v", err)
		}
		all[2].cancel()
		synctest.Wait()
		if s := all[2].State(); !s.Ended || s.Failed != "cancelled" {
			t.Fatalf("%+v", s)
		}
		if _, err := j.run(clock, question{ask: blocked}); err != nil {
			t.Fatalf("there is room again: %v", err)
		}
		j.close()
		for _, b := range all {
			if !b.State().Ended {
				t.Fatal("a question outlives its console")
			}
		}
	})
}

func TestAQuestionEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJobs()
		b, err := j.run(clock, question{ask: blocked})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(jobDeadline + time.Second) // of the bubble
		synctest.Wait()
		if s := b.State(); !s.Ended || s.Failed == "" {
			t.Fatalf("%+v", s)
		}
	})
}

func TestOldResultsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJobs()
		done := func(context.Context, func(events.Position, events.Position)) (any, error) { return 1, nil }
		for range 3 * maxJobs {
			if _, err := j.run(clock, question{Page: "p", ask: done}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if len(j.all) != maxJobs || j.find("1") != nil || j.last("p").ID != "48" || j.last("q") != nil {
			t.Fatalf("%d are kept, the last is %s", len(j.all), j.last("p").ID)
		}
	})
}

// A question that the list has forgotten still ends with the console.
func TestAForgottenQuestionEndsWithTheConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJobs()
		old, err := j.run(clock, question{ask: blocked})
		if err != nil {
			t.Fatal(err)
		}
		for range maxJobs {
			if _, err := j.run(clock, question{ask: func(context.Context, func(events.Position, events.Position)) (any, error) { return 1, nil }}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		began := time.Now()
		j.close()
		if time.Since(began) != 0 || !old.State().Ended {
			t.Fatalf("closing took %s", time.Since(began))
		}
	})
}

func TestTriesAreCountedByAddress(t *testing.T) {
	rows := map[string]struct{ a, b string }{
		"ports of one host":           {"192.0.2.1:1000", "192.0.2.1:2000"},
		"hosts of one IPv6 network":   {"[2001:db8:1:2::1]:1", "[2001:db8:1:2:ffff::9]:2"},
		"IPv4 and its mapped writing": {"192.0.2.1:1", "[::ffff:192.0.2.1]:1"},
	}
	for name, r := range rows {
		if caller(r.a) != caller(r.b) {
			t.Errorf("%s: %s and %s", name, caller(r.a), caller(r.b))
		}
	}
	if caller("192.0.2.1:1") == caller("192.0.2.2:1") || caller("[2001:db8:1:2::1]:1") == caller("[2001:db8:1:3::1]:1") {
		t.Error("strangers are counted together")
	}
}
