#include "base/names.h"

#include "tests/catch.h"

namespace winnow {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("Names: the nearest ones have the name as a part, begin with it, or differ in few letters",
          "[base]") {
  CHECK(NearestNames("trials", {"max_trial_seconds", "max_failed_trials", "max_trials"}) ==
        Names{"max_trials", "max_failed_trials"});
  CHECK(NearestNames("max_trial", {"max_trial_resource", "max_trials"}).front() == "max_trials");
  CHECK(NearestNames("workers", {"worker-token", "local-workers"}) == Names{"local-workers"});
  CHECK(NearestNames("slot", {"lot", "slots"}) == Names{"slots"});
  CHECK(NearestNames("bank", {"bank-2", "direct", "bank-3"}) == Names{"bank-2", "bank-3"});
  CHECK(NearestNames("lits", {"list", "plan", "logs"}) == Names{"list"});
  CHECK(NearestNames("wacth", {"watch", "match"}) == Names{"watch"});
  CHECK(NearestNames("AUC", {"auc", "mae"}) == Names{"auc"});
  CHECK(NearestNames("abcd", {"abce", "abcf", "abcg", "abch"}) == Names{"abce", "abcf", "abcg"});
  CHECK(NearestNames("completely", {"x"}).empty());
  CHECK(NearestNames("", {"x", "abc"}) == Names{"x"});
  CHECK(NearestNames("x", {}).empty());
}

TEST_CASE("Names: one near name is offered, or all that are expected", "[base]") {
  CHECK(DidYouMean("etta", {"eta", "gamma"}) == "; did you mean eta?");
  CHECK(DidYouMean("momentum", {"eta", "gamma"}) == "; expected one of eta, gamma");
  CHECK(OneOf({"a"}) == "a");
  CHECK(OneOf({"a", "b"}) == "a or b");
  CHECK(OneOf({"a", "b", "c"}) == "a, b or c");
}

}  // namespace
}  // namespace winnow
