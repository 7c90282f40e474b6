package clients

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/waybill/waybill/test/upstream"
)

func message() anthropic.MessageNewParams {
	return anthropic.MessageNewParams{Model: "claude-test", MaxTokens: 16, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hi"))}}
}

func TestAnthropic(t *testing.T) {
	up, gw := world(t)
	client := anthropic.NewClient(option.WithBaseURL(gw.URL), option.WithAPIKey("client-key"))
	ctx := t.Context()

	t.Run("a message", func(t *testing.T) {
		got, err := client.Messages.New(ctx, message())
		must(t, err)
		if got.Content[0].Text != "hello" {
			t.Fatalf("got %+v", got.Content)
		}
	})
	t.Run("a streamed message", func(t *testing.T) {
		text, err := streamMessage(ctx, client)
		if err != nil || text != "hello" {
			t.Fatalf("got %q, %v", text, err)
		}
	})
	t.Run("counting tokens", func(t *testing.T) {
		got, err := client.Messages.CountTokens(ctx, anthropic.MessageCountTokensParams{Model: "claude-test", Messages: message().Messages})
		must(t, err)
		if got.InputTokens != 9 {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("models in Anthropic's shape", func(t *testing.T) {
		page, err := client.Models.List(ctx, anthropic.ModelListParams{})
		must(t, err)
		var ids []string
		for _, m := range page.Data {
			ids = append(ids, m.ID)
		}
		if !strings.Contains(strings.Join(ids, " "), "claude-test") {
			t.Fatalf("got %v", ids)
		}
	})
	t.Run("a tool call", func(t *testing.T) {
		up.Script("aa-key", upstream.JSON(200, `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"tu_1","name":"weather","input":{"city":"Rotterdam"}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}`), upstream.Good)
		got, err := client.Messages.New(ctx, message())
		must(t, err)
		if use := got.Content[0].AsToolUse(); use.Name != "weather" || string(use.Input) != `{"city":"Rotterdam"}` {
			t.Fatalf("got %+v", use)
		}
	})
	t.Run("an error of the request is the upstream's", func(t *testing.T) {
		up.Script("aa-key", upstream.JSON(400, `{"type":"error","error":{"type":"invalid_request_error","message":"bad"},"request_id":"req_1"}`), upstream.Good)
		_, err := client.Messages.New(ctx, message())
		var api *anthropic.Error
		if !errors.As(err, &api) || api.StatusCode != 400 {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("an overloaded account costs the client nothing, also as an error inside a 200", func(t *testing.T) {
		up.Script("aa-key", upstream.Stream(upstream.Raw(upstream.Named("error", `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`))), upstream.JSON(529, `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`), upstream.Good)
		for range 2 {
			text, err := streamMessage(ctx, client)
			if err != nil || text != "hello" {
				t.Fatalf("got %q, %v", text, err)
			}
		}
	})
	t.Run("the SDK's own retry gets through", func(t *testing.T) {
		dry := upstream.JSON(429, `{"type":"error","error":{"type":"rate_limit_error","message":"x"}}`, "Retry-After: 1")
		up.Script("aa-key", dry, upstream.Good)
		up.Script("ab-key", dry, upstream.Good)
		got, err := client.Messages.New(ctx, message())
		must(t, err)
		if got.Content[0].Text != "hello" {
			t.Fatalf("got %+v", got.Content)
		}
	})
	t.Run("a broken stream is an error, never an end", func(t *testing.T) {
		up.Script("aa-key", upstream.Stream(append(upstream.Chunks(upstream.MsgEvents[:4]), upstream.Raw("event: content_block_delta\ndata: {\"ty"), upstream.Reset)...), upstream.Good)
		text, err := streamMessage(ctx, client)
		if err == nil || text != "hel" {
			t.Fatalf("got %q, %v", text, err)
		}
	})
	t.Run("cancelling cancels the upstream", func(t *testing.T) {
		up.Script("aa-key", upstream.Stream(append(upstream.Chunks(upstream.MsgEvents[:4]), upstream.Hang)...))
		before := len(up.Hits("aa-key"))
		ctx, cancel := context.WithCancel(ctx)
		stream := client.Messages.NewStreaming(ctx, message())
		if !stream.Next() {
			t.Fatal(stream.Err())
		}
		cancel()
		stream.Close()
		gone(t, up.WaitHits(t, "aa-key", before+1)[before])
	})
}

func streamMessage(ctx context.Context, client anthropic.Client) (string, error) {
	stream := client.Messages.NewStreaming(ctx, message())
	var text strings.Builder
	for stream.Next() {
		text.WriteString(stream.Current().Delta.Text)
	}
	return text.String(), stream.Err()
}
