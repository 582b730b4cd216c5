#include "trainers/hyperparameters/hyperparameter.h"

#include "tests/catch.h"

namespace winnow {
namespace {

using Kind = Hyperparameter::Kind;
using Texts = std::vector<std::string>;

constexpr Word kWords[] = {{"sgd", 0}, {"Adam", 1}, {"adam_w", 2}, {"adamw", 2}};

TEST_CASE("Hyperparameter: numbers are read in their interval, whatever white space is around them",
          "[hyperparameters]") {
  const Hyperparameter rate = {.name = "rate", .kind = Kind::kReal, .range = MoreThan(0, 1)};
  CHECK(Read(rate, " 0.25 ")->real == 0.25);
  CHECK(Read(rate, "1")->real == 1);
  for (const char* wrong : {"0", "1.5", "nan", "inf", "", "0.1x", "true", "[0.1]"})
    CHECK_FALSE(Read(rate, wrong));
  CHECK(Read(rate, "1e-40"));
  CHECK_FALSE(Read(rate, "1e-50"));  // as a float it is 0
  const Hyperparameter share = {.name = "share", .kind = Kind::kReal, .range = LessThan(0, 1)};
  CHECK(Read(share, "1e-50"));
  CHECK_FALSE(Read(share, "0.99999999999"));
  const Hyperparameter rounds = {.name = "rounds", .kind = Kind::kWhole, .range = {1, 1000}};
  CHECK(Read(rounds, "1e2")->whole == 100);
  CHECK(Read(rounds, "6.0")->whole == 6);
  for (const char* wrong : {"0", "1001", "2.5", "1e300", "many"}) CHECK_FALSE(Read(rounds, wrong));
  const Hyperparameter seed = {.name = "seed", .kind = Kind::kWhole, .range = From(0)};
  CHECK(Read(seed, "9223372036854775807")->whole == 9223372036854775807);
  CHECK_FALSE(Read(seed, "9223372036854775808"));
}

TEST_CASE("Hyperparameter: words are read in any case, and printed as they are declared",
          "[hyperparameters]") {
  const Hyperparameter optimizer = {.name = "optimizer", .kind = Kind::kWord, .words = kWords};
  CHECK(Read(optimizer, "SGD")->whole == 0);
  CHECK(Read(optimizer, " adamW")->whole == 2);
  CHECK_FALSE(Read(optimizer, "lamb"));
  CHECK(WordOf(optimizer, 2) == "adam_w");
  CHECK(Expected(optimizer) == "one of sgd, Adam, adam_w");
}

TEST_CASE("Hyperparameter: what is expected is said in words", "[hyperparameters]") {
  const auto expected = [](Kind kind, Interval range) {
    return Expected({.name = "x", .kind = kind, .range = range});
  };
  CHECK(expected(Kind::kReal, LessThan(0, 1)) == "a number of at least 0 and less than 1");
  CHECK(expected(Kind::kReal, From(0)) == "a number of at least 0");
  const Hyperparameter share = {.name = "x", .kind = Kind::kReal, .range = LessThan(0, 1)};
  CHECK(Expected(share, "1") == Expected(share));
  CHECK(Expected(share, "2") == Expected(share));
  CHECK(Expected(share, "0.99999999999") == Expected(share) + ", also when rounded to a 32-bit float");
  CHECK(expected(Kind::kReal, {}) == "a number");
  CHECK(expected(Kind::kWhole, {1, 1e7}) == "a whole number of at least 1 and at most 10000000");
  CHECK(expected(Kind::kWhole, From(0)) == "a whole number of at least 0 and less than 2^63");
}

TEST_CASE("Hyperparameter: lists have commas, or are JSON", "[hyperparameters]") {
  CHECK(ReadList("auc, logloss") == Texts{"auc", "logloss"});
  CHECK(ReadList(R"( ["auc", "logloss"] )") == Texts{"auc", "logloss"});
  CHECK(ReadList("[300, 100]") == Texts{"300", "100"});
  CHECK(ReadList("[]").empty());
  CHECK(ReadList("") == Texts{""});
  CHECK(ReadList("a,") == Texts{"a", ""});
  CHECK(ReadNames("a,b,a") == Texts{"a", "b"});
}

}  // namespace
}  // namespace winnow
