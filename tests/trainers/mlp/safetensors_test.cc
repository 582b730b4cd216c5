#include "trainers/mlp/model/safetensors.h"

#include <cstring>
#include <limits>

#include "base/status_text.h"
#include "tests/catch.h"

namespace winnow::mlp {
namespace {

// A file with this header and this many zero bytes after it.
std::string FileOf(const std::string& header, std::size_t bytes) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header +
         std::string(bytes, '\0');
}

std::string ErrorOf(const std::string& text) { return MessageOf(ParseSafetensors(text).status()); }

constexpr const char* kPair = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";

TEST_CASE("Safetensors: the format's bytes", "[mlp]") {
  const std::string text = SafetensorsText({{"by", "me"}}, {{"a", {1, 2}, {1, -2}}});
  const std::string header =
      R"({"__metadata__":{"by":"me"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})";
  REQUIRE(text.size() == 8 + 88 + 8);
  CHECK(text.substr(0, 8) == std::string("\x58\0\0\0\0\0\0\0", 8));
  CHECK(text.substr(8, 88) == header + std::string(88 - header.size(), ' '));
  CHECK(text.substr(96) == std::string("\0\0\x80\x3f\0\0\0\xc0", 8));
}

TEST_CASE("Safetensors: tensors and metadata read back as they were", "[mlp]") {
  const std::string text = SafetensorsText({{"by", "\"me\"\n"}, {"at", ""}},
                                           {{"b", {2, 1}, {3, 0.1f}}, {"a", {}, {7}}, {"none", {0}, {}}});
  const absl::StatusOr<Safetensors> read = ParseSafetensors(text);
  REQUIRE(read.ok());
  CHECK(read->metadata == std::map<std::string, std::string>{{"at", ""}, {"by", "\"me\"\n"}});
  REQUIRE(read->tensors.size() == 3);
  CHECK(read->tensors.at("b").shape == std::vector<int64_t>{2, 1});
  CHECK(read->tensors.at("b").At(1) == 0.1f);
  CHECK(read->tensors.at("a").At(0) == 7);
  CHECK(read->tensors.at("none").size() == 0);
}

TEST_CASE("Safetensors: a file that was cut short anywhere is refused", "[mlp]") {
  const std::string text = SafetensorsText({{"by", "me"}}, {{"a", {1, 2}, {1, -2}}, {"b", {1}, {5}}});
  REQUIRE(ParseSafetensors(text).ok());
  for (std::size_t size = 0; size < text.size(); ++size) {
    INFO(size);
    CHECK(absl::IsInvalidArgument(ParseSafetensors(text.substr(0, size)).status()));
  }
  CHECK_THAT(ErrorOf(text + "x"), Catch::Contains("1 bytes after the last tensor belong to none"));
}

TEST_CASE("Safetensors: what is wrong is said, with the tensor's name", "[mlp]") {
  const auto tensor = [](const std::string& rest, std::size_t bytes = 8) {
    return ErrorOf(FileOf(R"({"w":{)" + rest + "}}", bytes));
  };
  CHECK_THAT(tensor(R"("dtype":"F16","shape":[4],"data_offsets":[0,8])"),
             Catch::Contains("tensor \"w\": dtype \"F16\": expected \"F32\""));
  CHECK_THAT(tensor(R"("shape":[2],"data_offsets":[0,8])"), Catch::Contains("dtype is missing"));
  CHECK_THAT(tensor(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"),
             Catch::Contains("tensor \"w\": 8 bytes do not hold shape [3]"));
  CHECK_THAT(tensor(R"("dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,8])"),
             Catch::Contains("do not hold shape"));
  CHECK_THAT(tensor(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"),
             Catch::Contains("shape: expected"));
  CHECK_THAT(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8,9])"),
             Catch::Contains("data_offsets: "));
  CHECK_THAT(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8,16])"), Catch::Contains("of the 8 bytes"));
  CHECK_THAT(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), Catch::Contains("[8, 0]"));
  CHECK_THAT(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"),
             Catch::Contains("4 bytes before it belong to no tensor"));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK_THAT(ErrorOf(SafetensorsText({}, {{"w", {2}, {0, nan}}})),
             Catch::Contains("tensor \"w\": value 1 is nan"));
}

TEST_CASE("Safetensors: a header that is not of the format is refused", "[mlp]") {
  CHECK_THAT(ErrorOf("PK\x03\x04 a file of another kind"), Catch::Contains("not safetensors"));
  CHECK_THAT(ErrorOf(FileOf("{\"a\":", 0)), Catch::Contains("the header is not JSON"));
  CHECK_THAT(ErrorOf(FileOf("[]", 0)), Catch::Contains("not a JSON object"));
  CHECK_THAT(ErrorOf(FileOf("{\"a\":1}", 0)), Catch::Contains("tensor \"a\": expected an object"));
  CHECK_THAT(ErrorOf(FileOf(R"({"__metadata__":{"x":1}})", 0)), Catch::Contains("\"x\": expected a text"));
  CHECK_THAT(ErrorOf(FileOf("{" + std::string(kPair) + "," + kPair + "}", 4)),
             Catch::Contains("has \"a\" twice"));
  const std::string overlap =
      R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)" + std::string(kPair) + "}";
  CHECK_THAT(ErrorOf(FileOf(overlap, 8)), Catch::Contains("also another tensor's"));
}

}  // namespace
}  // namespace winnow::mlp
