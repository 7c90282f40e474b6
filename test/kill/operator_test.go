package kill

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
)

// acknowledged is a reading that the gateway said it holds at a position.
type acknowledged struct {
	position events.Position
	source   string
}

// operator pushes readings, one after another, and keeps what it is told.
type operator struct {
	cancel context.CancelFunc
	done   chan struct{}
	said   []acknowledged
}

// pace is how often an operator pushes at most.
const pace = 10 * time.Millisecond

// operate begins to push; tag is in the source of every reading.
func operate(admin, tag string) *operator {
	ctx, cancel := context.WithCancel(context.Background())
	o := &operator{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for n := 1; ctx.Err() == nil; n++ {
			<-tick.C
			source := fmt.Sprintf("%s-%d", tag, n)
			if at := push(ctx, admin, source); at > 0 {
				o.said = append(o.said, acknowledged{at, source})
			}
		}
	}()
	return o
}

// push is one reading; 0: nothing was acknowledged, or not yet with a position.
func push(ctx context.Context, admin, source string) events.Position {
	body := fmt.Sprintf(`{"source":%q,"windows":[{"name":"weekly","remaining_percent":50}]}`, source)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, admin+"/api/v1/accounts/acct-00/readings", strings.NewReader(body))
	if err != nil {
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil { // it was killed
		return 0
	}
	defer resp.Body.Close()
	var answer struct {
		Position events.Position `json:"position"`
	}
	if resp.StatusCode != http.StatusAccepted || json.NewDecoder(resp.Body).Decode(&answer) != nil {
		return 0
	}
	return answer.Position
}

// rest ends it and returns what it was told.
func (o *operator) rest() []acknowledged {
	o.cancel()
	<-o.done
	return o.said
}
