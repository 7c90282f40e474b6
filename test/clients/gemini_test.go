package clients

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/waybill/waybill/test/upstream"
)

func TestGemini(t *testing.T) {
	up, gw := world(t)
	ctx := t.Context()
	client, err := genai.NewClient(ctx, &genai.ClientConfig{APIKey: "client-key", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: gw.URL}})
	must(t, err)
	generate := func() (*genai.GenerateContentResponse, error) {
		return client.Models.GenerateContent(ctx, "gemini-test", genai.Text("hi"), nil)
	}

	t.Run("generate", func(t *testing.T) {
		got, err := generate()
		must(t, err)
		if got.Text() != "hello" {
			t.Fatalf("got %q", got.Text())
		}
	})
	t.Run("stream", func(t *testing.T) {
		text, err := streamGemini(ctx, client)
		if err != nil || text != "hello" {
			t.Fatalf("got %q, %v", text, err)
		}
	})
	t.Run("count tokens", func(t *testing.T) {
		got, err := client.Models.CountTokens(ctx, "gemini-test", genai.Text("hi"), nil)
		must(t, err)
		if got.TotalTokens != 9 {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("models", func(t *testing.T) {
		page, err := client.Models.List(ctx, nil)
		must(t, err)
		var ids []string
		for _, m := range page.Items {
			ids = append(ids, m.Name)
		}
		if !strings.Contains(strings.Join(ids, " "), "gemini-test") {
			t.Fatalf("got %v", ids)
		}
	})
	t.Run("a function call", func(t *testing.T) {
		up.Script("ga-key", upstream.JSON(200, `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"weather","args":{"city":"Rotterdam"}}}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":1,"totalTokenCount":10}}`), upstream.Good)
		got, err := generate()
		must(t, err)
		if calls := got.FunctionCalls(); len(calls) != 1 || calls[0].Name != "weather" || calls[0].Args["city"] != "Rotterdam" {
			t.Fatalf("got %+v", calls)
		}
	})
	t.Run("an error of the request is the upstream's", func(t *testing.T) {
		up.Script("ga-key", upstream.JSON(400, `{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}`), upstream.Good)
		_, err := generate()
		var api genai.APIError
		if !errors.As(err, &api) || api.Code != 400 || api.Status != "INVALID_ARGUMENT" {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("a refusal is an error of the SDK's kind with the dialect's status", func(t *testing.T) {
		dry := upstream.JSON(429, `{"error":{"code":429,"message":"x","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"2s"}]}}`)
		up.Script("ga-key", dry, upstream.Good)
		up.Script("gb-key", dry, upstream.Good)
		if _, err := generate(); err == nil {
			t.Fatal("no error though both accounts were dry")
		}
		_, err := generate()
		var api genai.APIError
		if !errors.As(err, &api) || api.Code != 429 || api.Status != "RESOURCE_EXHAUSTED" || !strings.Contains(api.Message, "waybill why") {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("the SDK's own retry gets through when the cooldown is over", func(t *testing.T) {
		retry := &genai.GenerateContentConfig{HTTPOptions: &genai.HTTPOptions{RetryOptions: &genai.HTTPRetryOptions{Attempts: genai.Ptr[int32](5)}}}
		got, err := client.Models.GenerateContent(ctx, "gemini-test", genai.Text("hi"), retry)
		must(t, err)
		if got.Text() != "hello" {
			t.Fatalf("got %q", got.Text())
		}
	})
	t.Run("a broken stream is an error, never an end", func(t *testing.T) {
		up.Script("ga-key", upstream.Stream(upstream.Raw(upstream.GemEvents[0]), upstream.Raw(`data: {"cand`), upstream.Reset), upstream.Good)
		text, err := streamGemini(ctx, client)
		if err == nil || text != "hel" {
			t.Fatalf("got %q, %v", text, err)
		}
	})
	t.Run("cancelling cancels the upstream", func(t *testing.T) {
		up.Script("ga-key", upstream.Stream(upstream.Raw(upstream.GemEvents[0]), upstream.Hang))
		before := len(up.Hits("ga-key"))
		ctx, cancel := context.WithCancel(ctx)
		for range client.Models.GenerateContentStream(ctx, "gemini-test", genai.Text("hi"), nil) {
			cancel()
			break
		}
		cancel()
		gone(t, up.WaitHits(t, "ga-key", before+1)[before])
	})
}

func streamGemini(ctx context.Context, client *genai.Client) (string, error) {
	var text strings.Builder
	for got, err := range client.Models.GenerateContentStream(ctx, "gemini-test", genai.Text("hi"), nil) {
		if err != nil {
			return text.String(), err
		}
		text.WriteString(got.Text())
	}
	return text.String(), nil
}
