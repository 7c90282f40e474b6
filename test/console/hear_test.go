package console

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
)

// hear notes what the browser says, and what of it is a fault of the page.
func (b *tab) hear(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err != nil || u.Scheme+"://"+u.Host != b.base && u.Scheme != "data" {
			b.fault("a page asks for %s", e.Request.URL)
		}
		b.note("asks for %s %s", e.Request.Method, e.Request.URL)
	case *network.EventResponseReceived:
		b.note("got %d for %s", e.Response.Status, e.Response.URL)
	case *log.EventEntryAdded:
		b.note("%s: %s", e.Entry.Level, e.Entry.Text)
		if e.Entry.Level == log.EntryLevelError && !strings.Contains(e.Entry.Text, "the server responded with a status of 4") {
			b.fault("the browser says of %s: %s", e.Entry.URL, e.Entry.Text)
		}
	case *runtime.EventConsoleAPICalled:
		for _, arg := range e.Args {
			b.note("console %s: %s%s", e.Type, arg.Value, arg.Description)
		}
	case *runtime.EventExceptionThrown:
		b.fault("a script fails: %s", e.ExceptionDetails.Text+" "+e.ExceptionDetails.URL)
	}
}

func (b *tab) fault(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

// mostHeard bounds what is remembered of what the browser said.
const mostHeard = 40

func (b *tab) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, fmt.Sprintf("  "+format, args...))
	b.said = b.said[max(0, len(b.said)-mostHeard):]
}

// heard is what the browser said last.
func (b *tab) heard() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(append(b.said, b.faults...), "\n")
}
