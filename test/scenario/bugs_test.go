package scenario

import "testing"

func Test_B002_B004_B032_B034_B035_B037_B038_B040_park(t *testing.T) { transcript(t, "park") }

func Test_B001_B008_B041_B043_B044_B046_B047_B049_class(t *testing.T) { transcript(t, "class") }

func Test_B052_B053_B055_B056_B058_B059_B061_retry(t *testing.T) { transcript(t, "retry") }

func Test_B011_B094_B095_B097_B098_B128_sticky(t *testing.T) { transcript(t, "sticky") }

func Test_B007_B107_B112_clock(t *testing.T) { transcript(t, "clock") }

func Test_B113_B115_B116_concurrency(t *testing.T) { transcript(t, "conc") }

func Test_B029_B118_B119_B121_state(t *testing.T) { transcript(t, "state") }

func Test_R14_whatever_is_no_property_of_the_pinned_account(t *testing.T) { transcript(t, "r14") }
