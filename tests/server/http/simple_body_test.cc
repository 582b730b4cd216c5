#include "server/http/simple_body.h"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>

#include "tests/catch.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {
namespace {

using google::protobuf::util::JsonStringToMessage;
using google::protobuf::util::MessageDifferencer;

template <typename Request>
void CheckAlike(const std::string& body) {
  INFO(body);
  Request quick, usual;
  REQUIRE(ReadSimpleBody(body, quick));
  REQUIRE(JsonStringToMessage(body, &usual).ok());
  CHECK(MessageDifferencer::Equals(quick, usual));
}

TEST_CASE("Http: a simple body is read as protobuf reads it", "[http]") {
  CheckAlike<v1::SuggestTrialsRequest>(R"({"client": "python-7", "count": 1, "wait": "10.000s"})");
  CheckAlike<v1::SuggestTrialsRequest>(R"({"jobId":"a\u00e4\ud83d\ude00","wait":"0s"})");
  CheckAlike<v1::CompleteTrialRequest>(
      R"({"attempt":2,"points":[{"resource":1,"metric":"auc","value":-1.25e-3},{"value":9007199254740992}]})");
  CheckAlike<v1::CompleteTrialRequest>(R"({"failed":true,"reason":"","points":[]})");
  CheckAlike<v1::CompleteTrialRequest>("{}");
}

TEST_CASE("Http: what is not simple is left to protobuf's own reading", "[http]") {
  for (const char* body :
       {"", "[]", "null", "{", R"({"attempt":"2"})", R"({"attempt":1.0})",
        R"({"attempt":9223372036854775808})", R"({"attempt":null})", R"({"unknown":1})",
        R"({"attempt":1,"attempt":2})", R"({"job_id":"a","jobId":"b"})", R"({"points":{}})",
        R"({"points":[{"value":"NaN"}]})", R"({"points":[{"value":9007199254740993}]})",
        R"({"reason":"\ud800"})", "\xef\xbb\xbf{}"}) {
    INFO(body);
    v1::CompleteTrialRequest request;
    CHECK_FALSE(ReadSimpleBody(body, request));
  }
  for (const char* wait : {"1", "-1s", ".5s", "1.s", "1.0000000001s", "9999999999s", "1S"}) {
    INFO(wait);
    v1::SuggestTrialsRequest request;
    CHECK_FALSE(ReadSimpleBody(R"({"wait":")" + std::string(wait) + "\"}", request));
  }
}

}  // namespace
}  // namespace winnow
