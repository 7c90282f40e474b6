package credential

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybill/waybill/events"
)

// issuer is a token endpoint: each call takes a while and gives the next token.
type issuer struct {
	calls atomic.Int64
	takes time.Duration
	life  time.Duration
	fail  func(call int64) error
}

func (i *issuer) fetch(ctx context.Context) (Token, error) {
	n := i.calls.Add(1)
	select {
	case <-time.After(i.takes):
	case <-ctx.Done():
		return Token{}, ctx.Err()
	}
	if i.fail != nil {
		if err := i.fail(n); err != nil {
			return Token{}, err
		}
	}
	t := Token{Secret: "tok" + string(rune('0'+n))}
	if i.life > 0 {
		t.Expires = time.Now().Add(i.life)
	}
	return t, nil
}

func loaded(t *testing.T, i *issuer) *Renewed {
	t.Helper()
	r := New(Options{Account: "a", Fetch: i.fetch, Now: time.Now})
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func Test_B155_twenty_refusals_are_one_renewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{takes: 200 * time.Millisecond}
		r := loaded(t, i)
		var served sync.WaitGroup
		var good atomic.Int64
		for range 20 { // and a poller is one of them
			served.Go(func() {
				if r.Refresh(t.Context(), "tok1") {
					good.Add(1)
				}
			})
		}
		served.Wait()
		if token, _ := r.Token(); good.Load() != 20 || i.calls.Load() != 2 || token != "tok2" {
			t.Errorf("%d of 20 served with %s after %d calls", good.Load(), token, i.calls.Load())
		}
	})
}

// A first fetch that fails is tried again after its rest, and one that takes
// long keeps only who waits for it waiting.
func TestAFirstTokenThatDoesNotComeIsFetchedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{takes: 10 * time.Second, fail: func(n int64) error {
			if n == 1 {
				return errors.New("not yet")
			}
			return nil
		}}
		r := New(Options{Account: "a", Fetch: i.fetch, Now: time.Now})
		hurry, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		from := time.Now()
		if err := r.Load(hurry); !errors.Is(err, ErrNone) || time.Since(from) > time.Second {
			t.Errorf("%v after %s", err, time.Since(from))
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { r.Run(ctx); close(done) }()
		time.Sleep(10*time.Second + firstBackoff + 11*time.Second)
		if token, _ := r.Token(); token != "tok2" {
			t.Errorf("the token is %q after %d calls", token, i.calls.Load())
		}
		stop()
		<-done
	})
}

func Test_B157_a_late_refusal_of_the_old_token_renews_nothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{takes: time.Millisecond}
		r := loaded(t, i)
		first, again := r.Refresh(t.Context(), "tok1"), r.Refresh(t.Context(), "tok1")
		if !first || !again || i.calls.Load() != 2 {
			t.Errorf("%d calls, want the second refusal to be given the new token", i.calls.Load())
		}
	})
}

func Test_B158_a_refusal_for_good_is_asked_once(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{takes: time.Millisecond, fail: func(n int64) error {
			if n > 1 {
				return errors.New("token_expired")
			}
			return nil
		}}
		r := loaded(t, i)
		for range 5 {
			if r.Refresh(t.Context(), "tok1") {
				t.Error("a failed renewal gave a token")
			}
		}
		if i.calls.Load() != 2 {
			t.Errorf("%d calls, want failures to rest", i.calls.Load())
		}
		time.Sleep(firstBackoff + time.Second) // virtual
		r.Refresh(t.Context(), "tok1")
		if i.calls.Load() != 3 {
			t.Errorf("%d calls, want another after the rest", i.calls.Load())
		}
	})
}

func Test_B160_the_first_caller_may_leave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{takes: 500 * time.Millisecond}
		r := loaded(t, i)
		leader, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var good atomic.Int64
		all.Go(func() {
			if r.Refresh(leader, "tok1") {
				t.Error("the leader left and was served")
			}
		})
		synctest.Wait()
		for range 9 {
			all.Go(func() {
				if r.Refresh(t.Context(), "tok1") {
					good.Add(1)
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		leave()
		all.Wait()
		if token, _ := r.Token(); good.Load() != 9 || i.calls.Load() != 2 || token != "tok2" {
			t.Errorf("%d of 9 served with %s after %d calls", good.Load(), token, i.calls.Load())
		}
	})
}

func Test_B161_a_late_failure_changes_nothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{takes: 600 * time.Millisecond, fail: func(n int64) error {
			if n == 2 {
				return errors.New("invalid_grant")
			}
			return nil
		}}
		r := loaded(t, i)
		var wait sync.WaitGroup
		wait.Go(func() { r.Refresh(t.Context(), "tok1") }) // fails after 600 ms
		time.Sleep(100 * time.Millisecond)
		r.adopt(Token{Secret: "fresh"}) // the poller's success
		wait.Wait()
		if token, _ := r.Token(); token != "fresh" || !r.Refresh(t.Context(), "tok1") {
			t.Errorf("the late failure left %s", token)
		}
		if !r.Refresh(t.Context(), "tok2") {
			t.Error("a refusal of another token did not get the one in use")
		}
	})
}

func TestACredentialIsRenewedBeforeItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour}
		var epochs []events.Epoch
		r := New(Options{Account: "a", Fetch: i.fetch, Now: time.Now, Changed: func(e events.Epoch) { epochs = append(epochs, e) }})
		if err := r.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { r.Run(ctx); close(done) }()
		time.Sleep(54 * time.Minute)
		if i.calls.Load() != 1 {
			t.Error("renewed too early")
		}
		time.Sleep(2 * time.Minute)
		if token, _ := r.Token(); token != "tok2" || len(epochs) != 2 || epochs[0] == epochs[1] {
			t.Errorf("token %s with epochs %v five minutes before the end", token, epochs)
		}
		stop()
		<-done
	})
}

// One that lives for less than the margin is renewed at half its life.
func TestAShortLifeIsNoLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: 20 * time.Second}
		r := loaded(t, i)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { r.Run(ctx); close(done) }()
		time.Sleep(time.Minute + time.Second)
		if n := i.calls.Load(); n != 7 {
			t.Errorf("fetched %d times in a minute, want 7", n)
		}
		stop()
		<-done
	})
}

func TestAFailingRenewalBacksOffAndKeepsTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Minute, fail: func(n int64) error {
			if n > 1 {
				return errors.New("down")
			}
			return nil
		}}
		r := loaded(t, i)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { r.Run(ctx); close(done) }()
		time.Sleep(time.Hour)
		if n := i.calls.Load(); n < 5 || n > 15 {
			t.Errorf("%d calls in an hour, want a doubling back-off up to ten minutes", n)
		}
		if token, _ := r.Token(); token != "tok1" {
			t.Errorf("a failure took the token away: %q", token)
		}
		stop()
		<-done
	})
}

func TestAFileIsReadAgainWhenItChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	write := func(s string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write("sk-1\n")
	clock := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	var told []error
	f, err := NewFile(path, Options{Account: "a", Now: func() time.Time { return clock }, Failed: func(err error) { told = append(told, err) }})
	if err != nil {
		t.Fatal(err)
	}
	first, e1 := f.Token()
	write("sk-22")
	if same, _ := f.Token(); same != first {
		t.Error("looked at the file twice within a second")
	}
	clock = clock.Add(2 * time.Second)
	second, e2 := f.Token()
	if first != "sk-1" || second != "sk-22" || e1 == e2 {
		t.Errorf("%q %x, then %q %x", first, e1, second, e2)
	}
	write("sk-333")
	if !f.Refresh(t.Context(), "sk-22") {
		t.Error("a refusal did not read the file again")
	}
	if err := os.WriteFile(path, []byte("sk-444"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, clock, clock); err != nil {
		t.Fatal(err)
	}
	clock = clock.Add(2 * time.Second)
	if now, _ := f.Token(); now != "sk-444" {
		t.Errorf("written over in place: %q", now)
	}
	write("")
	clock = clock.Add(time.Second)
	if last, _ := f.Token(); last != "sk-444" || len(told) != 1 {
		t.Errorf("an empty file: %q is left, and is told as %v", last, told)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	clock = clock.Add(2 * time.Second)
	if last, _ := f.Token(); last != "sk-444" {
		t.Errorf("a missing file took the credential away: %q", last)
	}
}

func TestWhatACommandPrints(t *testing.T) {
	rows := []struct{ name, script, token, fault string }{
		{"a bare token", "echo tok-1", "tok-1", ""},
		{"a document", `echo '{"token":"tok-2","expires_at":"2026-11-30T14:03:00Z"}'`, "tok-2", ""},
		{"nothing", "true", "", "empty"},
		{"two words", "echo a b", "", "blank"},
		{"a broken document", `echo '{"token":'`, "", "want"},
		{"a failure shows its words, redacted", "echo 'no: Bearer sk-CANARY-123456' >&2; exit 3", "", "no: Bearer"},
		{"too much", "head -c 100000 /dev/zero | tr '\\0' x", "", "longer"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got, err := Command([]string{"/bin/sh", "-c", r.script})(t.Context())
			if got.Secret != r.token || (err == nil) != (r.fault == "") {
				t.Fatalf("got %q %v", got.Secret, err)
			}
			if err != nil && (!strings.Contains(err.Error(), r.fault) || strings.Contains(err.Error(), "CANARY")) {
				t.Errorf("error %q", err)
			}
		})
	}
}

func TestACommandThatHangsIsEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Command([]string{"/bin/sh", "-c", "exec cat /dev/zero >/dev/null"})(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"token":"x","expires_at":"2026-11-30T14:03:00Z"}`))
	f.Add([]byte("sk-1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := Parse(b)
		if (err == nil) == (got.Secret == "") {
			t.Errorf("%q gives %q and %v", b, got.Secret, err)
		}
		if strings.ContainsAny(got.Secret, " \r\n\t") {
			t.Errorf("a blank in %q", got.Secret)
		}
	})
}
