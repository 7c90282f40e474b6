package routing

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/pins"
)

// roster builds a view from lines of "id provider [known=a,b] [models=a,b]
// [dialects=x,y] [priority=n] [retired]" and a document.
func roster(t testing.TB, doc events.Document, lines ...string) View {
	t.Helper()
	v := View{Admission: admission.New(), Pins: pins.New(), Cache: NewCache()}
	for _, line := range lines {
		words := strings.Fields(line)
		s := events.Settings{Provider: words[1], Endpoint: words[1] + ".test", Dialects: []events.Dialect{events.DialectOpenAI}}
		retired := false
		for _, w := range words[2:] {
			name, value, _ := strings.Cut(w, "=")
			switch name {
			case "known":
				s.Known = strings.Split(value, ",")
			case "models":
				s.Models = strings.Split(value, ",")
			case "dialects":
				s.Dialects = nil
				for _, d := range strings.Split(value, ",") {
					parsed, ok := events.ParseDialect(d)
					if !ok {
						t.Fatalf("dialect %q", d)
					}
					s.Dialects = append(s.Dialects, parsed)
				}
			case "priority":
				if _, err := fmt.Sscan(value, &s.Priority); err != nil {
					t.Fatal(err)
				}
			case "retired":
				retired = true
			}
		}
		fold(v, words[0], &events.AccountEnrolled{Settings: s})
		if retired {
			fold(v, words[0], &events.AccountRetired{})
		}
	}
	fold(v, "", &events.PolicyAdopted{Digest: doc.Digest(), Document: doc})
	return v
}

func fold(v View, account string, data events.Payload) {
	e := events.Event{Header: events.Header{Account: account, ObservedAt: 1}, Position: 1, Data: data}
	v.Admission.Apply(&e)
	v.Pins.Apply(&e)
}

func open() events.Document { return events.Document{Policy: events.DefaultPolicy()} }

func routes(models ...events.Route) events.Document {
	return events.Document{Policy: events.DefaultPolicy(), Models: models}
}

// spell writes a route as "account>model" by tier.
func spell(v View, dialect events.Dialect, asked string) string {
	var b strings.Builder
	r := resolve(v.Admission, dialect, asked)
	for i := range r.members {
		m := &r.members[i]
		if i > 0 {
			b.WriteString(map[bool]string{true: " ", false: " | "}[m.tier == r.members[i-1].tier])
		}
		b.WriteString(m.account.ID + ">" + m.model)
	}
	return b.String()
}

func Test_B094_B154_a_name_resolves(t *testing.T) {
	openai := "o1 openai known=gpt-*,o3"
	second := "o2 openai known=gpt-*,o3 models=gpt-5*"
	router := "r openrouter known=openai/gpt-5,stealth/ox,b/deep-x dialects=openai,anthropic"
	local := "local openai-compatible"
	rewrite := routes(events.Route{Name: "m1", Tiers: []events.Tier{{Accounts: []string{"o2", "o1"}, Model: "gpt-5"}, {Provider: "openrouter"}}})
	for _, row := range []struct {
		name  string
		view  View
		asked string
		want  string
	}{
		{"every account that serves it, in enrolment order", roster(t, open(), openai, second, local), "gpt-5", "o1>gpt-5 o2>gpt-5 local>gpt-5"},
		{"an allow-list keeps an account out", roster(t, open(), openai, second), "gpt-4", "o1>gpt-4"},
		{"a retired account is no candidate", roster(t, open(), openai+" retired", second), "gpt-5", "o2>gpt-5"},
		{"an account that does not speak the dialect is no candidate", roster(t, open(), openai, router+" dialects=anthropic"), "stealth/ox", ""},
		{"priority comes before the order of enrolment", roster(t, open(), openai+" priority=2", second+" priority=1"), "gpt-5", "o2>gpt-5 o1>gpt-5"},
		{"a configured model has its tiers and its rewrite", roster(t, rewrite, openai, second, router), "m1", "o2>gpt-5 o1>gpt-5 | r>m1"},
		{"B094_a_spelling_of_a_configured_model_is_that_model", roster(t, rewrite, openai, second, router), "M1", "o2>gpt-5 o1>gpt-5 | r>m1"},
		{"where models are configured nothing else may be asked for", roster(t, rewrite, openai, local), "gpt-5", ""},
		{"but account/model chooses still", roster(t, rewrite, openai, local), "o1/gpt-5", "o1>gpt-5"},
		{"B154_account_prefix_before_provider_prefix", roster(t, open(), "openai groq", openai), "openai/gpt-5", "openai>gpt-5"},
		{"B154_provider_prefix_takes_all_its_accounts_and_is_not_sent", roster(t, open(), openai, second, router), "openai/gpt-5", "o1>gpt-5 o2>gpt-5"},
		{"B154_provider_prefix_in_another_case", roster(t, open(), openai, second, router), "OpenAI/gpt-5", "o1>gpt-5 o2>gpt-5"},
		{"B154_a_name_with_a_slash_of_its_own", roster(t, open(), openai, router), "stealth/ox", "r>stealth/ox"},
		{"B154_a_prefix_that_does_not_know_the_model_gives_way_to_who_lists_it", roster(t, open(), "b1 b known=deep-y", router), "b/deep-x", "r>b/deep-x"},
		{"B154_a_prefix_chooses_even_a_model_its_patterns_miss", roster(t, open(), openai, local), "openai/brand-new", "o1>brand-new"},
		{"B154_an_account_that_is_named_is_not_replaced", roster(t, open(), second, local), "o2/gpt-4o", ""},
		{"B154_an_unknown_prefix_goes_to_nobody_that_lists_models", roster(t, open(), openai, router), "nobody/gpt-5", ""},
		{"an unknown prefix is not an error where an account serves any name", roster(t, open(), openai, local), "qwen/qwen3:free", "local>qwen/qwen3:free"},
		{"an empty name is no model", roster(t, open(), local), "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := spell(row.view, events.DialectOpenAI, row.asked); got != row.want {
				t.Errorf("%q resolves to %q, want %q", row.asked, got, row.want)
			}
		})
	}
}

func Test_B149_each_account_gets_its_own_rewrite(t *testing.T) {
	v := roster(t, routes(events.Route{Name: "auto", Strategy: events.StrategyOrdered, Tiers: []events.Tier{
		{Accounts: []string{"a"}, Model: "ma"}, {Accounts: []string{"b"}, Model: "mb"}}}), "a x", "b x")
	if got := spell(v, events.DialectOpenAI, "auto"); got != "a>ma | b>mb" {
		t.Errorf("auto resolves to %q", got)
	}
	for id, want := range map[string]string{"a": "ma", "b": "mb"} {
		if got := SentAs(v.Admission, v.Admission.Account(id).No, "auto"); got != want {
			t.Errorf("auto goes to %s as %q", id, got)
		}
	}
	if got := SentAs(v.Admission, 1, "other"); got != "other" {
		t.Errorf("a name that leads nowhere is asked about as %q", got)
	}
}

func Test_B094_aliases_and_spellings_share_a_route(t *testing.T) {
	v := roster(t, routes(
		events.Route{Name: "m1", Tiers: []events.Tier{{Accounts: []string{"a", "b"}}}},
		events.Route{Name: "fast", Tiers: []events.Tier{{Accounts: []string{"b"}, Model: "m1"}, {Accounts: []string{"a"}, Model: "m1"}}},
		events.Route{Name: "alone", Tiers: []events.Tier{{Accounts: []string{"a"}}}},
	), "a x dialects=openai,anthropic", "b x dialects=openai,anthropic")
	want, _ := RouteOf(v, events.DialectOpenAI, "m1")
	for _, asked := range []string{"M1", "fast", "x/m1"} {
		if got, _ := RouteOf(v, events.DialectAnthropic, asked); got != want {
			t.Errorf("%s has a route of its own", asked)
		}
	}
	if got, _ := RouteOf(v, events.DialectOpenAI, "alone"); got == want {
		t.Error("another set of accounts shares the route")
	}
}

func Test_B116_names_of_clients_do_not_fill_the_memory(t *testing.T) {
	v := roster(t, open(), "a x known=m*", "b x")
	for i := range 20_000 {
		v.route(events.DialectOpenAI, fmt.Sprintf("random-%d", i))
	}
	if n := len(v.Cache.routes); n > maxRoutes || v.Cache.gates > maxGates {
		t.Errorf("%d routes with %d gates are kept", n, v.Cache.gates)
	}
	v = roster(t, open(), "a x known=m*")
	for i := range 100 {
		v.route(events.DialectOpenAI, fmt.Sprintf("random-%d", i))
	}
	if n := len(v.Cache.routes); n != 0 {
		t.Errorf("%d names that resolve to nothing are kept", n)
	}
}

func TestAChangeOfTheRosterIsSeenAtOnce(t *testing.T) {
	v := roster(t, open(), "a x")
	before := len(v.route(events.DialectOpenAI, "m").members)
	fold(v, "b", &events.AccountEnrolled{Settings: events.Settings{Provider: "x", Dialects: []events.Dialect{events.DialectOpenAI}}})
	if after := len(v.route(events.DialectOpenAI, "m").members); before != 1 || after != 2 {
		t.Errorf("%d members, then %d", before, after)
	}
}
