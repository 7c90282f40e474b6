package config

import (
	"fmt"
	"net"
	"strconv"

	"github.com/waybill/waybill/gateway/wire"
)

func checkListen(name, addr string) Faults {
	_, port, err := net.SplitHostPort(addr)
	if n, portErr := strconv.Atoi(port); err != nil || portErr != nil || n < 0 || n > 65535 {
		return Faults{{File: name, Problem: fmt.Sprintf("%q is no address", addr), Mend: "write host:port, such as 127.0.0.1:8787"}}
	}
	return nil
}

// Loopback says that an address can be reached from this machine only. A host
// that is absent means every interface.
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err == nil && wire.Loopback(host)
}
