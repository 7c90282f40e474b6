package cerebras

import (
	"testing"

	"github.com/waybill/waybill/gateway/provider/providertest"
)

func TestGolden(t *testing.T) { providertest.Run(t, Provider(), "cerebras") }
