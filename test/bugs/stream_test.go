package bugs

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/test/upstream"
)

// deltas are two events of content of each dialect, the first ones before it
// included.
func deltas(name string) []string {
	evs := streams[name]
	switch name {
	case "msg+s":
		return evs[:4]
	case "resp+s":
		return evs[:4]
	case "gem+s":
		return evs[:1]
	}
	return evs[:2]
}

// errorFrames counts the frames that an SDK of the dialect takes for an error,
// and those that claim success.
func errorFrames(name string, fs []frame) (bad, done int) {
	for _, f := range fs {
		switch name {
		case "msg+s":
			if f.name == "error" && strings.Contains(f.data, `"type":"error"`) {
				bad++
			}
			if f.name == "message_stop" {
				done++
			}
		case "resp+s":
			if f.name == "response.failed" || f.name == "error" {
				bad++
			}
			if f.name == "response.completed" {
				done++
			}
		case "gem+s":
			if strings.HasPrefix(f.data, `{"error":`) {
				bad++
			}
			if strings.Contains(f.data, "finishReason") {
				done++
			}
		default:
			if strings.HasPrefix(f.data, `{"error":`) {
				bad++
			}
			if f.data == "[DONE]" {
				done++
			}
		}
	}
	return bad, done
}

func Test_B013_terminal_error_after_half_an_event(t *testing.T) {
	half := map[string]string{
		"chat+s": `data: {"choices":[{"ind`, "msg+s": "event: content_block_delta\ndata: {\"type\":\"content_bl",
		"resp+s": "event: response.output_text.delta\ndata: {\"type\":\"resp", "gem+s": `data: {"candidates":[{"cont`,
	}
	for name, c := range allOfS {
		t.Run(name, func(t *testing.T) {
			for _, ending := range []string{"\n", "\r\n", "\r"} {
				w := start(t)
				whole := deltas(name)
				steps := append(upstream.Chunks(recode(whole, ending)), upstream.Raw(recode([]string{half[name]}, ending)[0]), upstream.Reset)
				w.up.Script("a", upstream.Stream(steps...))
				w.good("b")
				got := w.do(c)
				got.want(t, 200)
				fs := frames(got.body)
				want := frames(strings.Join(whole, ""))
				if len(fs) != len(want)+1 {
					t.Fatalf("%q: %d frames, want %d and one error: %q", ending, len(fs), len(want), got.body)
				}
				for i := range want {
					if fs[i] != want[i] {
						t.Errorf("%q: frame %d is %v, want %v", ending, i, fs[i], want[i])
					}
				}
				if bad, done := errorFrames(name, fs[len(fs)-1:]); bad != 1 || done != 0 {
					t.Errorf("%q: the last frame is %v, want an error", ending, fs[len(fs)-1])
				}
				w.wantHits(map[string]int{"b": 0})
			}
		})
	}
}

// recode writes events with another line ending.
func recode(evs []string, ending string) []string {
	out := make([]string, len(evs))
	for i, e := range evs {
		out[i] = strings.ReplaceAll(e, "\n", ending)
	}
	return out
}

func Test_B014_stream_cut_after_bytes_reached_the_client(t *testing.T) {
	cuts := map[string]upstream.Step{"reset": upstream.Reset, "no_zero_chunk": upstream.Cut, "stalled": upstream.Hang}
	for name, c := range allOfS {
		for how, cut := range cuts {
			t.Run(name+"/"+how, func(t *testing.T) {
				w := start(t, func(p *plan) { p.policy.IdleTimeout = 300 * time.Millisecond })
				w.up.Script("a", upstream.Stream(append(upstream.Chunks(deltas(name)), cut)...))
				w.good("b")
				got := w.do(c)
				got.want(t, 200)
				bad, done := errorFrames(name, frames(got.body))
				if bad != 1 || done != 0 {
					t.Errorf("%d error frames, %d terminal ones: %q", bad, done, got.body)
				}
				w.wantHits(map[string]int{"a": 1, "b": 0})
				w.finished(1)
				f, _ := events.FailureOf(w.outcomes()[0].Data)
				if f == nil || !f.Committed || f.Followed != events.FollowedNothing {
					t.Fatalf("outcome %+v, want a failure after the commit point", f)
				}
				if u := f.Answer.Usage; name == "msg+s" && (u == nil || !u.Partial || u.Input.V != 9) {
					t.Errorf("usage %+v, want a partial one", u)
				}
			})
		}
	}
	t.Run("malformed_event_passes_untouched", func(t *testing.T) {
		w := start(t)
		evs := []string{upstream.ChatEvents[0], upstream.ChatEvents[1], "data: {broken\n\n"}
		evs = append(evs, upstream.ChatEvents[2:]...)
		w.up.Script("a", upstream.Stream(upstream.Chunks(evs)...))
		got := w.do(chatS)
		if got.body != whole(evs) {
			t.Errorf("body %q, want every byte", got.body)
		}
	})
}

func Test_B016_complete_streams_are_not_truncated(t *testing.T) {
	chunk := func(delta, finish string) string {
		return upstream.Event(`{"id":"c1","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`)
	}
	rows := map[string]struct {
		call   call
		events []string
		usage  bool
	}{
		"finish_reason_in_the_last_content_chunk_then_eof": {chatS, []string{chunk(`{"content":"he"}`, "null"), chunk(`{"content":"y"}`, `"stop"`)}, false},
		"usage_only_chunk_after_finish_reason_then_eof":    {chatS, []string{chunk(`{"content":"he"}`, `"stop"`), upstream.Event(`{"id":"c1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}`)}, true},
		"message_stop":   {msgS, upstream.MsgEvents, true},
		"finishReason":   {gemS, upstream.GemEvents, true},
		"done_sent_once": {chatS, upstream.ChatEvents, true},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.up.Script("a", upstream.Stream(upstream.Chunks(row.events)...))
			got := w.do(row.call)
			if got.body != whole(row.events) {
				t.Errorf("body %q, want the upstream's bytes: a native stream gets no [DONE] added", got.body)
			}
			w.finished(1)
			evs := w.events(events.KindAttemptSucceeded)
			if len(evs) != 1 {
				t.Fatalf("outcomes %v, want one success", w.classes())
			}
			if u := evs[0].Data.(*events.AttemptSucceeded).Answer.Usage; (u != nil) != row.usage || u != nil && u.Partial {
				t.Errorf("usage %+v", u)
			}
		})
	}
}

func Test_B017_lines_of_megabytes(t *testing.T) {
	for _, size := range []int{64<<10 - 1, 64 << 10, 64<<10 + 1, 1<<20 + 1, 8 << 20} {
		for name, c := range allOfS {
			if size > 1<<21 && name == "resp+s" {
				continue // it says its text four times: 32 MiB tell nothing more
			}
			t.Run(fmt.Sprintf("%s/%d", name, size), func(t *testing.T) {
				w := start(t)
				text := strings.Repeat("x", size)
				evs := make([]string, len(streams[name]))
				for i, e := range streams[name] {
					evs[i] = strings.ReplaceAll(e, `"hel"`, `"`+text+`"`)
					if name == "resp+s" {
						evs[i] = strings.ReplaceAll(evs[i], `"hello"`, `"`+text+`"`)
					}
				}
				w.up.Script("a", upstream.Stream(upstream.Chunks(evs)...))
				got := w.do(c)
				if got.err != nil || sha256.Sum256([]byte(got.body)) != sha256.Sum256([]byte(whole(evs))) {
					t.Errorf("%d bytes (%v), want the upstream's %d", len(got.body), got.err, len(whole(evs)))
				}
				w.finished(1)
				done := w.events(events.KindAttemptSucceeded)
				if len(done) != 1 || done[0].Data.(*events.AttemptSucceeded).Answer.Usage == nil {
					t.Errorf("outcomes %v, want a success with usage", w.classes())
				}
			})
		}
	}
}

func Test_B019_any_line_ending_and_any_cut(t *testing.T) {
	for name, c := range allOfS {
		plain := whole(streams[name])
		forms := map[string][]string{
			"lf": streams[name], "crlf": recode(streams[name], "\r\n"), "cr": recode(streams[name], "\r"),
			"no_space": {strings.ReplaceAll(strings.ReplaceAll(plain, "data: ", "data:"), "event: ", "event:")},
			"bom":      {"\ufeff" + plain},
			"bytewise": strings.Split(strings.ReplaceAll(plain, "\n", "\r\n"), ""),
		}
		if name != "gem+s" {
			forms["multi_line_data"] = []string{strings.ReplaceAll(plain, `,"`, ",\ndata: \"")}
		}
		for form, chunks := range forms {
			t.Run(name+"/"+form, func(t *testing.T) {
				w := start(t)
				w.up.Script("a", upstream.Stream(upstream.Chunks(chunks)...))
				got := w.do(c)
				if got.body != strings.Join(chunks, "") {
					t.Errorf("body %q, want the upstream's bytes %q", got.body, strings.Join(chunks, ""))
				}
				w.finished(1)
				done := w.events(events.KindAttemptSucceeded)
				if len(done) != 1 {
					t.Fatalf("outcomes %v, want one success", w.classes())
				}
				if u := done[0].Data.(*events.AttemptSucceeded).Answer.Usage; u == nil || u.Input.V != 9 {
					t.Errorf("usage %+v, want input 9", u)
				}
			})
		}
	}
	t.Run("first_event_at_once", func(t *testing.T) {
		w := start(t)
		next := make(chan struct{})
		evs := recode(upstream.ChatEvents, "\r\n")
		w.up.Script("a", upstream.Stream(upstream.Raw(evs[0]+evs[1]), upstream.Await(next), upstream.Raw(strings.Join(evs[2:], ""))))
		l := w.open(chatS)
		if took := l.until(`"hel"`); took > busy(200*time.Millisecond) {
			t.Errorf("the first event took %s", took)
		}
		close(next)
		l.rest()
	})
}

func Test_B020_comments_are_life_but_no_token(t *testing.T) {
	t.Run("they_pass_as_they_are", func(t *testing.T) {
		w := start(t)
		noise := []string{": warming\n\n", ":\n\n", "data:\n\n"}
		var evs []string
		for i, e := range upstream.MsgEvents {
			evs = append(evs, noise[i%3], e)
		}
		w.up.Script("a", upstream.Stream(upstream.Chunks(evs)...))
		got := w.do(msgS)
		if got.body != whole(evs) || strings.Contains(got.body, "data: :") {
			t.Errorf("body %q, want the upstream's bytes", got.body)
		}
		w.finished(1)
		w.wantClasses("a-msg:success")
	})
	t.Run("a_stream_of_comments_fails_over", func(t *testing.T) {
		w := start(t)
		w.up.Script("a", upstream.Stream(upstream.Raw(": one\n\n"), upstream.Raw(":\n\n"), upstream.Raw("event: ping\ndata: {\"type\":\"ping\"}\n\n")))
		w.good("b")
		got := w.do(msgS)
		if got.body != whole(upstream.MsgEvents) {
			t.Errorf("body %q, want b's stream alone", got.body)
		}
		w.wantHits(map[string]int{"a": 1, "b": 1})
	})
	t.Run("comments_keep_the_idle_clock_at_bay", func(t *testing.T) {
		w := start(t, func(p *plan) { p.policy.IdleTimeout = 250 * time.Millisecond })
		steps := upstream.Chunks(deltas("msg+s"))
		for range 5 {
			steps = append(steps, upstream.Wait(100*time.Millisecond), upstream.Raw(": still here\n\n"))
		}
		w.up.Script("a", upstream.Stream(append(steps, upstream.Chunks(upstream.MsgEvents[4:])...)...))
		got := w.do(msgS)
		if bad, done := errorFrames("msg+s", frames(got.body)); bad != 0 || done != 1 {
			t.Errorf("%d errors, %d ends: %q", bad, done, got.body)
		}
	})
}

func Test_B071_upstream_keeps_the_socket_open_after_the_end(t *testing.T) {
	for name, c := range allOfS {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			at := make(chan time.Time, 1)
			steps := append(upstream.Chunks(streams[name]), func(*upstream.Exchange) error { at <- time.Now(); return nil }, upstream.Hang)
			w.up.Script("a", upstream.Stream(steps...))
			got := w.do(c)
			if late := time.Since(<-at); late > busy(200*time.Millisecond) {
				t.Errorf("the answer ended %s after its terminal marker", late)
			}
			if got.body != whole(streams[name]) || got.err != nil {
				t.Errorf("body %q (%v)", got.body, got.err)
			}
			w.finished(1)
			if c := w.classes(); len(c) != 1 || !strings.HasSuffix(c[0], ":success") {
				t.Errorf("outcomes %v, want a success", c)
			}
			w.wantIdle()
			wantGone(t, w.up.Hits("a")[0].Gone, time.Second, name)
		})
	}
}

func Test_B073_every_event_at_once(t *testing.T) {
	for _, alias := range []bool{false, true} {
		for name, c := range allOfS {
			t.Run(fmt.Sprintf("%s/alias_%t", name, alias), func(t *testing.T) {
				w := start(t, func(p *plan) {
					if alias {
						p.models = []events.Route{{Name: "m1", Tiers: []events.Tier{{Accounts: []string{"a", "a-msg", "a-gem"}, Model: "upstream-m1"}}}}
					}
				})
				evs := append([]string(nil), deltas(name)...)
				for i := range 6 {
					evs = append(evs, strings.ReplaceAll(evs[len(evs)-1], "hel", fmt.Sprintf("word%d", i)))
				}
				steps := make([]upstream.Step, 0, 2*len(evs))
				written := make(chan struct{})
				for i, e := range evs {
					steps = append(steps, upstream.Raw(e))
					if i >= len(deltas(name))-1 {
						steps = append(steps, upstream.Await(written)) // nothing follows until the client has it
					}
				}
				w.up.Script("a", upstream.Stream(append(steps, upstream.Hang)...))
				l := w.open(c.with("Accept-Encoding", "gzip"))
				for i := len(deltas(name)) - 1; i < len(evs); i++ {
					if took := l.until(strings.TrimSpace(evs[i])); took > busy(100*time.Millisecond) {
						t.Errorf("event %d took %s", i, took)
					}
					written <- struct{}{}
				}
				l.leave()
			})
		}
	}
}

func Test_B074_limits_of_time(t *testing.T) {
	t.Run("a_long_stream_that_talks_lives", func(t *testing.T) {
		w := start(t, func(p *plan) { p.policy.MaxElapsed, p.policy.IdleTimeout = 400*time.Millisecond, 250*time.Millisecond })
		steps := upstream.Chunks(deltas("chat+s"))
		for range 8 {
			steps = append(steps, upstream.Wait(100*time.Millisecond), upstream.Raw(upstream.ChatEvents[2]))
		}
		w.up.Script("a", upstream.Stream(append(steps, upstream.Chunks(upstream.ChatEvents[3:])...)...))
		got := w.do(chatS)
		if bad, done := errorFrames("chat+s", frames(got.body)); bad != 0 || done != 1 {
			t.Errorf("%d errors, %d ends after %s", bad, done, got.took)
		}
	})
	t.Run("silence_inside_a_stream_ends_it", func(t *testing.T) {
		w := start(t, func(p *plan) { p.policy.IdleTimeout = 300 * time.Millisecond })
		w.up.Script("a", upstream.Stream(append(upstream.Chunks(deltas("chat+s")), upstream.Hang)...))
		got := w.do(chatS)
		if bad, _ := errorFrames("chat+s", frames(got.body)); bad != 1 || got.took < 300*time.Millisecond || got.took > busy(1500*time.Millisecond) {
			t.Errorf("%d errors after %s", bad, got.took)
		}
		wantGone(t, w.up.Hits("a")[0].Gone, time.Second, "idle")
		w.finished(1)
		if f, _ := events.FailureOf(w.outcomes()[0].Data); f.Class != events.ClassTimeout || f.Rule != "timeout:idle_timeout" {
			t.Errorf("recorded as %s by %s", f.Class, f.Rule)
		}
	})
	t.Run("all_attempts_together_end_at_max_elapsed", func(t *testing.T) {
		w := start(t, func(p *plan) { p.policy.MaxElapsed = 300 * time.Millisecond })
		w.up.Script("*", upstream.Steps(upstream.Hang))
		got := w.do(chat)
		got.want(t, http.StatusGatewayTimeout)
		if got.took > busy(time.Second) {
			t.Errorf("took %s", got.took)
		}
		w.wantHits(map[string]int{"a": 1, "b": 0})
	})
}

func Test_B076_chunks_without_choices(t *testing.T) {
	w := start(t)
	evs := []string{
		upstream.Event(`{"id":"c1","choices":[],"prompt_filter_results":[{"prompt_index":0}]}`),
		upstream.Event(`{"id":"c1","choices":null}`),
		upstream.Event(`{"id":"c1","choices":[{"index":1,"delta":{"content":"b"}},{"index":0,"delta":{"content":"a"}}]}`),
		upstream.Event(`{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"},{"index":1,"delta":{},"finish_reason":"stop"}]}`),
		upstream.Event(`{"id":"c1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}`),
		upstream.Event(`[DONE]`),
	}
	w.up.Script("a", upstream.Stream(upstream.Chunks(evs)...))
	got := w.do(chatS)
	got.want(t, 200)
	if got.body != whole(evs) {
		t.Errorf("body %q", got.body)
	}
	w.finished(1)
	done := w.events(events.KindAttemptSucceeded)
	if len(done) != 1 || done[0].Data.(*events.AttemptSucceeded).Answer.Usage == nil {
		t.Errorf("outcomes %v, want a success with usage", w.classes())
	}
}

func TestAPreambleThatIsTooLongIsAFailover(t *testing.T) {
	w := start(t)
	comment := ": " + strings.Repeat("x", 1022) + "\n\n"
	steps := slices.Repeat([]upstream.Step{upstream.Raw(comment)}, 100)
	w.up.Script("a", upstream.Stream(append(steps, upstream.Chunks(upstream.ChatEvents)...)...))
	w.good("b")
	if got := w.do(chatS); got.body != whole(upstream.ChatEvents) {
		t.Errorf("got %d bytes, want b's stream", len(got.body))
	}
	w.wantHits(map[string]int{"a": 1, "b": 1})
	w.finished(1)
	w.wantClasses("a:malformed", "b:success")
}
