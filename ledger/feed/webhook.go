package feed

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// The headers of a delivery.
const (
	HeaderID        = "Waybill-Event-Id"
	HeaderType      = "Waybill-Event-Type"
	HeaderTimestamp = "Waybill-Timestamp" // seconds since 1970
	HeaderSignature = "Waybill-Signature" // Sign's
)

// deliveryTime bounds one delivery, its answer included.
const deliveryTime = 10 * time.Second

// Webhook publishes to a URL: one POST a message, taken when it is answered
// with a 2xx. Redirects are not followed. Whoever receives should check the
// signature and the age of the timestamp, and drop ids that it has seen.
type Webhook struct {
	URL    string
	Secret string // signs; "" leaves the signature out
	client *http.Client
}

var _ message.Publisher = (*Webhook)(nil)

// NewWebhook makes a publisher for a URL.
func NewWebhook(url, secret string) *Webhook {
	return &Webhook{URL: url, Secret: secret, client: &http.Client{
		Timeout:       deliveryTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Sign is "sha256=" and the HMAC-SHA256, in hex, of timestamp, a dot and body.
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// Publish implements message.Publisher; the topic is not used.
func (w *Webhook) Publish(_ string, msgs ...*message.Message) error {
	for _, m := range msgs {
		if err := w.post(m.Context(), m); err != nil {
			return err
		}
	}
	return nil
}

func (w *Webhook) post(ctx context.Context, m *message.Message) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(m.Payload))
	if err != nil {
		return errors.New("the address cannot be used")
	}
	now := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(HeaderID, m.UUID)
	req.Header.Set(HeaderType, m.Metadata.Get(MetaType))
	req.Header.Set(HeaderTimestamp, now)
	if w.Secret != "" {
		req.Header.Set(HeaderSignature, Sign(w.Secret, now, m.Payload))
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // lets the connection be used again
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("answered with %d", resp.StatusCode)
	}
	return nil
}

// withoutURL drops the address from an error: it often holds a token.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// Close implements message.Publisher.
func (w *Webhook) Close() error {
	w.client.CloseIdleConnections()
	return nil
}
