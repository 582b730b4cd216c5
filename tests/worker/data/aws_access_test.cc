#include "worker/data/aws_access.h"

#include <fstream>

#include "aws/aws_files.h"
#include "aws/s3_answers.h"
#include "base/status_text.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "worker/data/remote_object.h"

namespace winnow {
namespace {

using Catch::Matchers::Contains;

// On a machine without a role.
absl::StatusOr<AwsAccess> Find(const std::string& endpoint, const Variables& job, const Variables& worker) {
  return FindAwsAccess(endpoint, job, worker, nullptr, Cancellation());
}

// A home directory with both files.
struct AwsHome {
  AwsHome() {
    std::filesystem::create_directory(folder.path() / ".aws");
    std::ofstream(folder.path() / ".aws/credentials")
        << "[default]\naws_access_key_id = DEFAULT\naws_secret_access_key = default-secret\n"
           "[team]\naws_access_key_id=TEAM\naws_secret_access_key=team-secret\naws_session_token=team-token\n"
           "[half]\naws_access_key_id=HALF\n";
    std::ofstream(folder.path() / ".aws/config")
        << "[default]\nregion = eu-west-1\n[profile team]\nregion = eu-central-1 # near\n"
           "endpoint_url = http://storage:9000\ns3 =\n  region = nested\n";
  }
  Variables Worker(Variables more = {}) const {
    more["HOME"] = folder.path();
    return more;
  }
  TempFolder folder;
};

TEST_CASE("files of AWS are read with comments, blanks and nested settings") {
  const AwsSections sections = ParseAwsFile(
      "\xEF\xBB\xBF# a comment\nkey = outside\n[ one ]\r\na = 1 ; not this\n  nested = 2\nb=#3\na = "
      "4\n[two\nc=5\n[three]\n=x\n");
  CHECK(sections == AwsSections{{"one", {{"a", "4"}, {"b", "#3"}}}, {"three", {}}});
}

TEST_CASE("a job's keys come before the worker's, and the worker's variables before its files") {
  const AwsHome home;
  CHECK(Find("", {}, home.Worker())->credentials.id == "DEFAULT");
  CHECK(Find("", {}, home.Worker())->region == "eu-west-1");
  const Variables worker = home.Worker({{"AWS_ACCESS_KEY_ID", "WORKER"},
                                        {"AWS_SECRET_ACCESS_KEY", "worker-secret"},
                                        {"AWS_SESSION_TOKEN", "worker-token"},
                                        {"AWS_REGION", "us-west-2"}});
  CHECK(Find("", {}, worker)->credentials.token == "worker-token");
  const auto own = Find("http://other:1/",
                        {{"AWS_ACCESS_KEY_ID", "JOB"}, {"AWS_SECRET_ACCESS_KEY", "job-secret"}}, worker);
  CHECK(own->credentials.id == "JOB");
  CHECK(own->credentials.token.empty());  // a pair of keys and another's token fit nowhere
  CHECK(own->region == "us-west-2");
  CHECK(own->endpoint == "http://other:1");
  const auto team = Find("", {{"AWS_PROFILE", "team"}}, home.Worker());
  CHECK(team->credentials.token == "team-token");
  CHECK(team->region == "eu-central-1");
  CHECK(team->endpoint == "http://storage:9000");
}

TEST_CASE("errors name missing halves and profiles, and never a secret") {
  const AwsHome home;
  const auto why = [&](const Variables& job, const Variables& worker) {
    return MessageOf(Find("", job, worker).status());
  };
  CHECK_THAT(why({{"AWS_PROFILE", "none"}}, home.Worker()),
             Contains("the profile none") && Contains(".aws/config"));
  CHECK_THAT(why({{"AWS_PROFILE", "half"}}, home.Worker()), Contains("only one of"));
  CHECK_THAT(why({{"AWS_SECRET_ACCESS_KEY", "job-secret"}}, home.Worker()),
             Contains("AWS_ACCESS_KEY_ID is not set") && !Contains("job-secret"));
  // A job cannot make the worker read a file for it.
  const auto open = Find("", {{"HOME", home.folder.path()}, {"AWS_CONFIG_FILE", "/etc/x"}}, {});
  CHECK(open->credentials.id.empty());
  CHECK(open->region == "us-east-1");
}

TEST_CASE("objects have the address that a signature requires") {
  AwsAccess access;
  access.region = "eu-west-1";
  CHECK(AwsUrl(access, "bucket", "day=1/a b+é.csv") ==
        "https://bucket.s3.eu-west-1.amazonaws.com/day%3D1/a%20b%2B%C3%A9.csv");
  CHECK(AwsUrl(access, "my.bucket", "x") == "https://s3.eu-west-1.amazonaws.com/my.bucket/x");
  access.endpoint = "http://storage:9000";
  CHECK(AwsUrl(access, "bucket", "x") == "http://storage:9000/bucket/x");
  access.endpoint = "http://{bucket}.storage";
  CHECK(AwsUrl(access, "bucket", "x") == "http://bucket.storage/x");
}

TEST_CASE("a listing is read page by page, with its keys, which are encoded if it says so") {
  const auto page = ParseListing(
      "<?xml version=\"1.0\"?><ListBucketResult "
      "xmlns=\"x\"><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<Contents><Key>a%2Fb+c%2B</Key><Size>1</Size></Contents><Contents><Key>d&amp;e</Key></Contents>"
      "<NextContinuationToken>t/+=</NextContinuationToken></ListBucketResult>");
  REQUIRE(page->objects.size() == 2);
  CHECK((page->objects[0].key == "a/b c+" && page->objects[0].size == 1));
  CHECK((page->objects[1].key == "d&e" && page->objects[1].size == -1));
  CHECK(page->next == "t/+=");
  const auto plain = ParseListing(
      "<ListBucketResult><Contents><Key>a%2Fb+c</Key><Size>1</Size></Contents></ListBucketResult>");
  CHECK(plain->objects.at(0).key == "a%2Fb+c");
  CHECK_FALSE(ParseListing("<html>hello</html>").ok());
  CHECK_FALSE(ParseListing("<ListBucketResult><Contents><Key>cut").ok());
}

}  // namespace
}  // namespace winnow
