package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// The buses that are words; any other is the URL of a NATS server.
const (
	BusLocal    = "local"
	BusPostgres = "postgres"
)

// NATSBus says that a bus is a NATS server.
func NATSBus(bus string) bool { return bus != BusLocal && bus != BusPostgres }

// checkBus refuses a bus that is none, and one that has nobody to wake.
func checkBus(bus, ledger string) Faults {
	words := []string{BusLocal, BusPostgres, "nats://host:4222"}
	if strings.Contains(bus, "://") {
		if problem := checkServers(bus, "nats", "tls"); problem != "" {
			return Faults{{File: "WAYBILL_BUS", Problem: problem, Mend: "write nats://host:4222"}}
		}
	} else if !slices.Contains(words[:2], bus) {
		return Faults{{File: "WAYBILL_BUS", Problem: fmt.Sprintf("%q is not known", bus), Mend: didYouMean(bus, words)}}
	}
	if bus != BusLocal && !strings.HasPrefix(ledger, "postgres") {
		return Faults{{File: "WAYBILL_BUS", Problem: "an embedded ledger has one process and needs no bus", Mend: "unset it, or set WAYBILL_LEDGER=postgres://..."}}
	}
	return nil
}

// checkServers says what is wrong with a list of URLs, without showing them:
// they may hold a password.
func checkServers(list string, schemes ...string) string {
	for s := range strings.SplitSeq(list, ",") {
		u, err := url.Parse(strings.TrimSpace(s))
		switch {
		case err != nil:
			return "its address cannot be read"
		case !slices.Contains(schemes, u.Scheme):
			return fmt.Sprintf("%q is no scheme of NATS", u.Scheme)
		case u.Hostname() == "":
			return "its address names no host"
		case !validPort(u):
			return "its address has port " + u.Port() + ", which there is not"
		}
	}
	return ""
}
