package clients

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/waybill/waybill/test/upstream"
)

func ask() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: "gpt-test", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")}}
}

func TestOpenAI(t *testing.T) {
	up, gw := world(t)
	client := openai.NewClient(option.WithBaseURL(gw.URL+"/v1"), option.WithAPIKey("client-key"))
	ctx := t.Context()

	t.Run("a chat completion", func(t *testing.T) {
		got, err := client.Chat.Completions.New(ctx, ask())
		must(t, err)
		if text := got.Choices[0].Message.Content; text != "hello" {
			t.Fatalf("got %q", text)
		}
	})
	t.Run("a streamed chat completion", func(t *testing.T) {
		text, err := streamChat(ctx, client)
		if err != nil || text != "hello" {
			t.Fatalf("got %q, %v", text, err)
		}
	})
	t.Run("a response and a streamed response", func(t *testing.T) {
		params := responses.ResponseNewParams{Model: "gpt-test", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("hi")}}
		got, err := client.Responses.New(ctx, params)
		must(t, err)
		if got.OutputText() != "hello" {
			t.Fatalf("got %q", got.OutputText())
		}
		stream := client.Responses.NewStreaming(ctx, params)
		var text strings.Builder
		for stream.Next() {
			text.WriteString(stream.Current().Delta)
		}
		if stream.Err() != nil || text.String() != "hello" {
			t.Fatalf("got %q, %v", text.String(), stream.Err())
		}
	})
	t.Run("embeddings", func(t *testing.T) {
		got, err := client.Embeddings.New(ctx, openai.EmbeddingNewParams{Model: "gpt-test", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("hi")}})
		must(t, err)
		if len(got.Data) != 1 || len(got.Data[0].Embedding) != 2 {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("models", func(t *testing.T) {
		page, err := client.Models.List(ctx)
		must(t, err)
		var ids []string
		for _, m := range page.Data {
			ids = append(ids, m.ID)
		}
		if !strings.Contains(strings.Join(ids, " "), "gpt-test") {
			t.Fatalf("got %v", ids)
		}
	})
	t.Run("a tool call arrives whole", func(t *testing.T) {
		const args = `{"city":"Rotterdam","big":9007199254740993}`
		up.Script("oa-key", upstream.JSON(200, `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Rotterdam\",\"big\":9007199254740993}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}`), upstream.Good)
		params := ask()
		params.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "weather", Parameters: openai.FunctionParameters{"type": "object"}})}
		got, err := client.Chat.Completions.New(ctx, params)
		must(t, err)
		if call := got.Choices[0].Message.ToolCalls[0].Function; call.Name != "weather" || call.Arguments != args {
			t.Fatalf("got %+v", call)
		}
	})
	t.Run("an error of the request is the upstream's", func(t *testing.T) {
		up.Script("oa-key", upstream.JSON(400, `{"error":{"message":"bad value","type":"invalid_request_error","param":"messages","code":"invalid_value"}}`), upstream.Good)
		_, err := client.Chat.Completions.New(ctx, ask())
		var api *openai.Error
		if !errors.As(err, &api) || api.StatusCode != 400 || api.Code != "invalid_value" {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("a wrong key is a 401 of the SDK's kind", func(t *testing.T) {
		bad := openai.NewClient(option.WithBaseURL(gw.URL+"/v1"), option.WithAPIKey("nonsense-key"))
		_, err := bad.Chat.Completions.New(ctx, ask())
		var api *openai.Error
		if !errors.As(err, &api) || api.StatusCode != 401 || strings.Contains(err.Error(), "nonsense-key") {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("a dry account costs the client nothing", func(t *testing.T) {
		up.Script("oa-key", upstream.JSON(429, `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`, "Retry-After: 1"), upstream.Good)
		text, err := streamChat(ctx, client)
		if err != nil || text != "hello" {
			t.Fatalf("got %q, %v", text, err)
		}
	})
	t.Run("when all are dry the SDK's own retry gets through", func(t *testing.T) {
		dry := upstream.JSON(429, `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`, "Retry-After: 1")
		up.Script("oa-key", dry, upstream.Good)
		up.Script("ob-key", dry, upstream.Good)
		got, err := client.Chat.Completions.New(ctx, ask())
		must(t, err)
		if got.Choices[0].Message.Content != "hello" {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("a broken stream is an error, never an end", func(t *testing.T) {
		up.Script("oa-key", upstream.Stream(upstream.Raw(upstream.ChatEvents[1]), upstream.Raw(`data: {"choices":[{"ind`), upstream.Reset), upstream.Good)
		text, err := streamChat(ctx, client)
		if err == nil || text != "hel" {
			t.Fatalf("got %q, %v", text, err)
		}
	})
	t.Run("cancelling cancels the upstream", func(t *testing.T) {
		up.Script("ob-key", upstream.Good)
		up.Script("oa-key", upstream.Stream(upstream.Raw(upstream.ChatEvents[1]), upstream.Hang))
		before := len(up.Hits("oa-key"))
		ctx, cancel := context.WithCancel(ctx)
		stream := client.Chat.Completions.NewStreaming(ctx, ask())
		if !stream.Next() {
			t.Fatal(stream.Err())
		}
		cancel()
		stream.Close()
		gone(t, up.WaitHits(t, "oa-key", before+1)[before])
	})
}

func streamChat(ctx context.Context, client openai.Client) (string, error) {
	stream := client.Chat.Completions.NewStreaming(ctx, ask())
	var text strings.Builder
	for stream.Next() {
		if c := stream.Current().Choices; len(c) > 0 {
			text.WriteString(c[0].Delta.Content)
		}
	}
	return text.String(), stream.Err()
}
