package dialect

import (
	"errors"
	"io"
	"mime/multipart"
	"net/textproto"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/waybill/waybill/gateway/body"
)

// take reads a request as the gateway does: body and reader in one pass.
func take(o *Operation, head Head, text string) (*body.Body, Request, error) {
	r, err := o.Reader(head)
	if err != nil {
		return nil, Request{}, err
	}
	b, err := body.Read(iotest.HalfReader(strings.NewReader(text)), "", body.Limits{Max: 64 << 20, Memory: 256}, r)
	if err != nil {
		return nil, Request{}, err
	}
	q, err := r.Request()
	return b, q, err
}

// sent is what an upstream gets of a request when it is asked for model.
func sent(t *testing.T, b *body.Body, q Request, model string) string {
	t.Helper()
	edits := q.Rewrite(model)
	p, err := io.ReadAll(b.Open(edits...))
	if err != nil || int64(len(p)) != b.Len(edits...) {
		t.Fatalf("sent %d bytes with Content-Length %d: %v", len(p), b.Len(edits...), err)
	}
	return string(p)
}

const oddBody = ` { "messages" : [{"role":"user","content":"\u00e9 \"model\":\"m1\" "}],
	"tools":[{"function":{"parameters":{"properties":{"zebra":{},"apple":{"model":"m1"},"mango":{}}}}}],
	"x_vendor": {"b":1,"a":2},  "model"	: "m1" , "temperature":1.0,"top_p":1e3,"seed":9223372036854775807,
	"metadata":{"n":9007199254740993,"z":-0,"e":1E400,"t":1e-7,"u":0.1},"stop":"x","tool_choice":null,"logit_bias":{} } `

func Test_B026_only_the_model_value_changes_and_nothing_without_a_rewrite(t *testing.T) {
	b, q, err := take(op(t, "openai.chat"), Head{}, oddBody)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if got := sent(t, b, q, "m1"); got != oddBody {
		t.Errorf("changed without need: %s", got)
	}
	for range 2 {
		want := strings.Replace(oddBody, `"model"	: "m1"`, `"model"	: "up\"s/tream:1"`, 1)
		if got := sent(t, b, q, `up"s/tream:1`); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func Test_B088_unions_nulls_and_unknown_keys_stay_as_they_are(t *testing.T) {
	for _, rest := range []string{`"messages":[{"role":"user","content":"x"}]`, `"messages":[{"content":[{"type":"text"},{"type":"image_url","image_url":{"url":"x"}}]}]`,
		`"tool_choice":"auto"`, `"tool_choice":{"type":"function"}`, `"stop":["a"]`, `"stop":"a"`, `"response_format":{"type":"json_schema","json_schema":{"x":{"y":{"z":null}}}}`, `"tool_choice":null`, `"stream":false`} {
		text := `{"model":"m1",` + rest + `}`
		b, q, err := take(op(t, "openai.chat"), Head{}, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := sent(t, b, q, "m2"); got != `{"model":"m2",`+rest+`}` {
			t.Errorf("got %s", got)
		}
	}
}

func Test_B089_numbers_keep_their_spelling(t *testing.T) {
	text := `{"a":[9007199254740993,9223372036854775807,1.0,1e-7,0.1,-0,1E400],"model":"m1"}`
	b, q, err := take(op(t, "openai.chat"), Head{}, text)
	if err != nil {
		t.Fatal(err)
	}
	if got := sent(t, b, q, "m2"); got != strings.Replace(text, "m1", "m2", 1) {
		t.Errorf("got %s", got)
	}
}

func Test_B092_bodies_that_are_no_request_are_refused_here(t *testing.T) {
	for name, text := range map[string]string{
		"empty_body": "", "white_space": " \n", "empty_object": "{}", "array": "[]", "null": "null", "string": `"x"`, "number": "1",
		"two_models": `{"model":"m1","messages":[],"model":"m2"}`, "two_models_escaped": `{"model":"m1","mod\u0065l":"m2"}`,
		"BOM": "\xef\xbb\xbf{\"model\":\"m1\"}", "trailing_garbage": `{"model":"m1"} x`, "second_object": `{"model":"m1"}{}`, "not_UTF8": "{\"model\":\"m1\",\"a\":\"\xff\"}",
		"too_deep": `{"model":"m1","a":` + strings.Repeat("[", 2000), "truncated": `{"model":"m1"`, "model_null": `{"model":null}`, "model_number": `{"model":1}`,
		"model_empty": `{"model":""}`, "model_blank": `{"model":"  "}`, "model_control": `{"model":"a\u0000b"}`, "model_long": `{"model":"` + strings.Repeat("m", 600) + `"}`,
		"comma": `{"model":"m1",}`, "single_quotes": `{'model':'m1'}`, "model_only_deeper": `{"x":{"model":"m1"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := take(op(t, "openai.chat"), Head{}, text)
			var e *Error
			if !errors.As(err, &e) || e.Status != 400 || e.Code != "invalid_request" || e.Message == "" {
				t.Errorf("got %v", err)
			}
		})
	}
	for name, text := range map[string]string{"empty_body": "", "array": "[]", "BOM": "\xef\xbb\xbf{}", "trailing_garbage": "{} x"} {
		t.Run("gemini_"+name, func(t *testing.T) {
			if _, _, err := take(op(t, "gemini.generateContent"), Head{Model: "m1"}, text); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func Test_B092_the_replayed_length_is_the_bodys(t *testing.T) {
	text := `{"model":"m1","messages":[{"role":"user","content":"` + strings.Repeat("x", 5000) + `"}]}`
	b, q, err := take(op(t, "openai.chat"), Head{}, text)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, model := range []string{"m1", "m", strings.Repeat("longer", 20)} {
		sent(t, b, q, model)
	}
}

func Test_B149_every_attempt_starts_from_the_clients_bytes(t *testing.T) {
	b, q, err := take(op(t, "openai.chat"), Head{}, `{"model":"auto","x":"auto"}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, model := range []string{"ma", "mb", "auto"} {
		if got := sent(t, b, q, model); got != `{"model":"`+model+`","x":"auto"}` || q.Model != "auto" {
			t.Errorf("got %s", got)
		}
	}
}

func Test_B151_a_rewrite_touches_no_other_text(t *testing.T) {
	text := `{"messages":[{"content":"\"model\":\"up\" \"model\" : \"up\""},{"tool_calls":[{"function":{"arguments":"{\"model\":\"up\"}","model":"up"}}]}],"model":"up","extra":{"model":"up"}}`
	for name, o := range map[string]*Operation{"chat": op(t, "openai.chat"), "messages": op(t, "anthropic.messages"), "responses": op(t, "openai.responses")} {
		b, q, err := take(o, Head{}, text)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := sent(t, b, q, "other"), strings.Replace(text, `"model":"up","extra"`, `"model":"other","extra"`, 1); got != want {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func Test_B151_gemini_bodies_name_their_model_too(t *testing.T) {
	text := `{"requests":[{"model":"models/e1","content":{"parts":[{"text":"model"}]}},{"model":"models/e1"}]}`
	b, q, err := take(op(t, "gemini.batchEmbedContents"), Head{Model: "models/e1"}, text)
	if err != nil {
		t.Fatal(err)
	}
	if got := sent(t, b, q, "e2"); q.Model != "e1" || got != strings.ReplaceAll(text, "models/e1", "models/e2") {
		t.Errorf("got %s", got)
	}
	b, q, err = take(op(t, "gemini.generateContent"), Head{Model: "m1"}, `{"contents":[{"model":"m1"}]}`)
	if err != nil || sent(t, b, q, "m2") != `{"contents":[{"model":"m1"}]}` {
		t.Errorf("%v", err)
	}
}

func Test_B154_names_pass_verbatim_with_slash_case_and_colon(t *testing.T) {
	for _, name := range []string{"stealth/ox", "B/m", "b/deep-x", "M1", "m1(high)", "llama3:8b", "модель", "a b"} {
		text := `{"model":` + string(appendString(nil, name)) + `}`
		b, q, err := take(op(t, "openai.chat"), Head{}, text)
		if err != nil || q.Model != name || sent(t, b, q, name) != text {
			t.Errorf("%s: %v %+v", name, err, q)
		}
	}
	_, q, err := take(op(t, "gemini.generateContent"), Head{Model: "stealth/ox:free"}, `{}`)
	if err != nil || q.Model != "stealth/ox:free" {
		t.Errorf("%v %+v", err, q)
	}
}

func TestWhatARequestAsksFor(t *testing.T) {
	for _, c := range []struct {
		op, text string
		head     Head
		want     Request
	}{
		{"openai.chat", `{"model":"m","stream":true,"user":"u","prompt_cache_key":"k"}`, Head{}, Request{Model: "m", Stream: true, Form: SSE, Session: "k"}},
		{"openai.chat", `{"model":"m","stream":"true","user":"u"}`, Head{}, Request{Model: "m", Session: "u"}},
		{"openai.chat", `{"model":"m","stream":true,"stream":false,"metadata":{"user_id":"s"}}`, Head{}, Request{Model: "m", Session: "s"}},
		{"openai.responses", `{"model":"m","previous_response_id":"r1","conversation":{"id":"c1"}}`, Head{}, Request{Model: "m", Tie: "r1", Session: "c1"}},
		{"openai.responses", `{"model":"m","conversation":"c1","previous_response_id":null}`, Head{}, Request{Model: "m", Session: "c1"}},
		{"openai.responses.get", ``, Head{ID: "r1"}, Request{Tie: "r1"}},
		{"openai.responses.compact", `{"model":"m","previous_response_id":"r1"}`, Head{}, Request{Model: "m", Tie: "r1"}},
		{"openai.chat", `{"model":"m","previous_response_id":"r1"}`, Head{}, Request{Model: "m"}},
		{"openai.responses.get", ``, Head{ID: "r1", Query: "include=x&stream=true"}, Request{Tie: "r1", Stream: true, Form: SSE}},
		{"openai.audio.speech", `{"model":"m","stream_format":"sse"}`, Head{}, Request{Model: "m", Stream: true, Form: SSE}},
		{"openai.audio.speech", `{"model":"m"}`, Head{}, Request{Model: "m", Form: Binary}},
		{"openai.moderations", `{"input":"x"}`, Head{}, Request{Model: "omni-moderation-latest"}},
		{"anthropic.messages", `{"model":"m","stream":true,"metadata":{"user_id":"u\u0031"},"user":"no"}`, Head{}, Request{Model: "m", Stream: true, Form: SSE, Session: "u1"}},
		{"gemini.streamGenerateContent", `{"cachedContent":"cachedContents/1"}`, Head{Model: "models/m", Query: "alt=sse"}, Request{Model: "m", Stream: true, Form: SSE, Session: "cachedContents/1"}},
		{"gemini.streamGenerateContent", `{}`, Head{Model: "m", Query: "key=x"}, Request{Model: "m", Stream: true, Form: Array}},
		{"gemini.generateContent", `{"stream":true}`, Head{Model: "m"}, Request{Model: "m"}},
		{"openai.models.get", ``, Head{Model: "a/b"}, Request{Model: "a/b"}},
		{"openai.images.edits", `{"model":"m","stream":true}`, Head{ContentType: "application/json"}, Request{Model: "m", Stream: true, Form: SSE}},
	} {
		_, got, err := take(op(t, c.op), c.head, c.text)
		got.At, got.wrap, got.resource = nil, [2]string{}, false
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s: got %+v, want %+v, %v", c.op, c.text, got, c.want, err)
		}
	}
}

func TestADefaultModelIsPutInWhereItIsRewritten(t *testing.T) {
	for text, want := range map[string]string{`{"input":"x"}`: `{"model":"m2","input":"x"}`, ` {}`: ` {"model":"m2"}`} {
		b, q, err := take(op(t, "openai.moderations"), Head{}, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := sent(t, b, q, "m2"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := sent(t, b, q, q.Model); got != text {
			t.Errorf("the default itself changed the body: %s", got)
		}
	}
}

// multi writes a form; fields are "name=value", a file is "name@bytes".
func multi(t *testing.T, fields ...string) (contentType, text string) {
	t.Helper()
	var b strings.Builder
	w := multipart.NewWriter(&b)
	for _, f := range fields {
		i := strings.IndexAny(f, "=@")
		name, value := f[:i], f[i+1:]
		if f[i] == '=' {
			_ = w.WriteField(name, value)
			continue
		}
		p, _ := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + name + `"; filename="a.wav"`}, "Content-Type": {"audio/wav"}})
		_, _ = io.WriteString(p, value)
	}
	_ = w.Close()
	return w.FormDataContentType(), b.String()
}

// values reads a form back.
func values(t *testing.T, contentType, text string) map[string][]string {
	t.Helper()
	_, boundary, _ := strings.Cut(contentType, "boundary=")
	f, err := multipart.NewReader(strings.NewReader(text), boundary).ReadForm(1 << 20)
	if err != nil {
		t.Fatalf("%v in %.300q", err, text)
	}
	return f.Value
}

func Test_B151_a_forms_model_is_rewritten_in_its_field_only(t *testing.T) {
	trap := "model\r\n--not-the-boundary\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nfake" + strings.Repeat("\r\n-", 900)
	contentType, text := multi(t, "file@"+trap, "prompt=model", "model=whisper-1", "stream=true")
	b, q, err := take(op(t, "openai.audio.transcriptions"), Head{ContentType: contentType}, text)
	if err != nil || q.Model != "whisper-1" || !q.Stream || q.Form != SSE {
		t.Fatalf("%+v %v", q, err)
	}
	got := values(t, contentType, sent(t, b, q, "other"))
	if want := map[string][]string{"prompt": {"model"}, "model": {"other"}, "stream": {"true"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	_, boundary, _ := strings.Cut(contentType, "boundary=")
	contentType, text = multi(t, "file@"+strings.ReplaceAll(trap, "--not-the-boundary", "--"+boundary+"x"), "model=m1")
	text = strings.ReplaceAll(text, contentType[len(contentType)-len(boundary):], boundary) // its own boundary, and a longer one inside the file
	if _, q, err = take(op(t, "openai.audio.transcriptions"), Head{ContentType: "multipart/form-data; boundary=" + boundary}, text); err != nil || q.Model != "m1" {
		t.Errorf("a boundary that begins like this one's: %+v %v", q, err)
	}
	contentType, text = multi(t, "image@"+trap, "prompt=x")
	b, q, err = take(op(t, "openai.images.edits"), Head{ContentType: contentType}, text)
	if err != nil || q.Model != "dall-e-2" {
		t.Fatalf("%+v %v", q, err)
	}
	got = values(t, contentType, sent(t, b, q, "other"))
	if want := map[string][]string{"prompt": {"x"}, "model": {"other"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("a default model: got %v", got)
	}
}

func Test_B092_forms_that_are_no_request_are_refused_here(t *testing.T) {
	o := op(t, "openai.audio.transcriptions")
	contentType, text := multi(t, "file@x", "model=m1")
	for name, c := range map[string]struct{ contentType, text string }{
		"no_boundary": {"multipart/form-data", text},
		"truncated":   {contentType, text[:len(text)-10]},
		"empty":       {contentType, ""},
		"mixed":       {strings.Replace(contentType, "form-data", "mixed", 1), text},
		"urlencoded":  {"application/x-www-form-urlencoded", "model=m1"},
	} {
		if _, _, err := take(o, Head{ContentType: c.contentType}, c.text); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for name, fields := range map[string][]string{"no_model": {"file@x"}, "two_models": {"model=a", "model=b", "file@x"}, "long_model": {"model=" + strings.Repeat("m", 9000)}, "model_is_a_file": {"model@m1"}} {
		contentType, text := multi(t, fields...)
		if _, _, err := take(o, Head{ContentType: contentType}, text); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func BenchmarkReader(b *testing.B) {
	for name, text := range map[string]string{
		"chat_1KB":   `{"model":"m1","temperature":0.7,"stream":true,"messages":[{"role":"system","content":"` + strings.Repeat("be terse ", 40) + `"},{"role":"user","content":"` + strings.Repeat("why? ", 90) + `"}]}`,
		"image_10MB": `{"model":"m1","input":[{"image_url":"` + strings.Repeat("QUJD", 2_500_000) + `"}]}`,
	} {
		b.Run(name, func(b *testing.B) {
			o, p := op(b, "openai.chat"), []byte(text)
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for b.Loop() {
				r, _ := o.Reader(Head{ContentType: "application/json"})
				if _, err := r.Write(p); err != nil {
					b.Fatal(err)
				}
				if _, err := r.Request(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
