package wire

import (
	"net/netip"
	"strings"
)

// Loopback says that a host, as a URL or an address to listen on spells it, is
// this machine under a name that no site of the web can have.
func Loopback(host string) bool {
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
