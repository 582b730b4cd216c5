#include "base/data_url.h"

#include "base/status_text.h"
#include "tests/catch.h"

namespace winnow {
namespace {

using Catch::Matchers::Contains;

std::string WhyNot(const std::string& text) {
  const absl::StatusOr<DataUrl> url = ParseDataUrl(text);
  return url.ok() ? "" : MessageOf(url.status());
}

TEST_CASE("URLs of data have a host and a path, and those of buckets a key that is taken as it is") {
  const DataUrl http = *ParseDataUrl("http://[::1]:8080/a%20b/train.csv?token=1");
  CHECK(http.host == "[::1]:8080");
  CHECK(http.path == "/a%20b/train.csv?token=1");
  CHECK_FALSE(http.is_prefix());
  CHECK(FileNameOf(http) == "train.csv");
  const DataUrl object = *ParseDataUrl("s3://my-bucket/day=1/a b+%41.csv");
  CHECK(object.host == "my-bucket");
  CHECK(object.path == "day=1/a b+%41.csv");
  CHECK(FileNameOf(object) == "a b+%41.csv");
  CHECK(ParseDataUrl("s3://my-bucket")->is_prefix());
  CHECK(ParseDataUrl("s3://my-bucket/day=1/")->is_prefix());
}

TEST_CASE("a downloaded file never gets a name that leads elsewhere") {
  CHECK(FileNameOf(*ParseDataUrl("https://host/x/..%2F..%2Fetc")) == "data");
  CHECK(FileNameOf(*ParseDataUrl("https://host/x/%2e%2e")) == "data");
  CHECK(FileNameOf(*ParseDataUrl("https://host/x/a%00b")) == "data");
  CHECK(FileNameOf(*ParseDataUrl("https://host/x/a%20b.csv?q=/c")) == "a b.csv");
  CHECK(FileNameOf(*ParseDataUrl("s3://bucket/..")) == "data");
  CHECK(FileNameOf(*ParseDataUrl("https://host/" + std::string(300, 'x'))) == "data");
}

TEST_CASE("what is wrong with a URL is said without repeating it") {
  CHECK_THAT(WhyNot("ftp://host/x"), Contains("expected http://, https:// or s3://"));
  CHECK_THAT(WhyNot("https://user:secret@host/x"), Contains("a password") && !Contains("secret"));
  CHECK_THAT(WhyNot("https://host"), Contains("names no file"));
  CHECK_THAT(WhyNot("https://host?x=1/y"), Contains("names no file"));
  CHECK_THAT(WhyNot("https:///x"), Contains("no valid host"));
  CHECK_THAT(WhyNot("https://host:99999/x"), Contains("no valid port"));
  CHECK_THAT(WhyNot("https://host/a b"), Contains("percent-encoded"));
  CHECK_THAT(WhyNot("https://host/x#y"), Contains("fragment"));
  CHECK_THAT(WhyNot("https://host/folder/?x"), Contains("ends in '/'"));
  CHECK_THAT(WhyNot("s3://b/x"), Contains("no valid bucket"));
  CHECK_THAT(WhyNot("s3://bu_cket?/x"), Contains("no valid bucket"));
}

TEST_CASE("an endpoint is a host, with the bucket in its name or not") {
  CHECK(CheckEndpoint("http://127.0.0.1:9000").ok());
  CHECK(CheckEndpoint("https://{bucket}.s3.example.org/").ok());
  CHECK_FALSE(CheckEndpoint("s3.example.org").ok());
  CHECK_FALSE(CheckEndpoint("https://s3.example.org/bucket").ok());
  CHECK_FALSE(CheckEndpoint("https://user:secret@s3.example.org").ok());
}

TEST_CASE("messages show no signature of a URL") {
  CHECK(ShownUrl("https://host/x?Signature=1") == "https://host/x?…");
  CHECK(ShownUrl("s3://bucket/what?") == "s3://bucket/what?");
  CHECK(HasScheme("s3://x"));
  CHECK_FALSE(HasScheme("data/a://b"));
  CHECK_FALSE(HasScheme("train.csv"));
}

}  // namespace
}  // namespace winnow
