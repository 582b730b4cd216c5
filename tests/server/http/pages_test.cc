// The web page's files.

#include "server/http/page_files.h"
#include "tests/server/http/http_play.h"

namespace winnow {
namespace {

const std::vector<PageFile> kFiles = {
    {"assets/a-1234.js", "text/javascript; charset=utf-8", "aa", "let a = 1;", "zipped"},
    {"index.html", "text/html; charset=utf-8", "bb", "<!doctype html>", ""},
};

std::string Header(const HttpAnswer& answer, const std::string& name) {
  for (const auto& [key, value] : answer.headers) {
    if (key == name) return value;
  }
  return "";
}

TEST_CASE("Pages: an asset may be kept for ever, and everything else is asked for anew", "[http]") {
  const HttpAnswer asset = AnswerPage(kFiles, "assets/a-1234.js", {});
  CHECK(asset.status == 200);
  CHECK(asset.content() == "let a = 1;");
  CHECK_THAT(Header(asset, "Cache-Control"), Catch::Contains("immutable"));
  for (const char* path : {"", "index.html", "jobs/a/trials/3", "login"}) {
    const HttpAnswer page = AnswerPage(kFiles, path, {});
    CHECK(page.content() == "<!doctype html>");
    CHECK(Header(page, "Cache-Control") == "no-cache");
    CHECK(Header(page, "Content-Type") == "text/html; charset=utf-8");
  }
  CHECK(AnswerPage(kFiles, "assets/b-1234.js", {}).status == 404);
}

TEST_CASE("Pages: compressed for those who take it", "[http]") {
  const auto asked = [](const char* accept) {
    HttpRequest request;
    request.headers["accept-encoding"] = accept;
    return AnswerPage(kFiles, "assets/a-1234.js", request);
  };
  for (const char* takes : {"gzip", "deflate, gzip", "gzip;q=0.5", "br, gzip ; q=1.0"}) {
    INFO(takes);
    CHECK(asked(takes).content() == "zipped");
    CHECK(Header(asked(takes), "Content-Encoding") == "gzip");
  }
  for (const char* not_so : {"", "br", "gzip;q=0", "gzip;q=0.0", "xgzip"}) {
    INFO(not_so);
    CHECK(asked(not_so).content() == "let a = 1;");
    CHECK(Header(asked(not_so), "Content-Encoding") == "");
  }
  CHECK(Header(asked("gzip"), "ETag") != Header(asked(""), "ETag"));
}

TEST_CASE("Pages: a browser that has the file already gets 304", "[http]") {
  HttpRequest request;
  request.headers["if-none-match"] = "\"zz\", \"bb\"";
  const HttpAnswer same = AnswerPage(kFiles, "index.html", request);
  CHECK(same.status == 304);
  CHECK(same.content() == "");
  request.headers["if-none-match"] = "\"old\"";
  CHECK(AnswerPage(kFiles, "index.html", request).status == 200);
}

TEST_CASE("Pages: answers in JSON are compressed too, where that gains something", "[http]") {
  HttpPlay play;
  const HttpClient::Headers takes = {{"Accept-Encoding", "gzip"}};
  const HttpReply plain = play.Ask("GET", "/v1/openapi.json");
  const HttpReply zipped = play.Ask("GET", "/v1/openapi.json", "", takes);
  CHECK(zipped.headers.at("content-encoding") == "gzip");
  CHECK(zipped.body.starts_with("\x1f\x8b"));
  CHECK(zipped.body.size() * 4 < plain.body.size());
  CHECK_FALSE(play.Ask("GET", "/v1/caller", "", takes).headers.contains("content-encoding"));
}

TEST_CASE("Pages: every path of the page is its index, with headers that keep scripts of others out",
          "[http]") {
  HttpPlay play;
  const HttpReply index = play.Ask("GET", "/");
  CHECK(index.status == 200);
  CHECK_THAT(index.body, Catch::Contains("<title>Winnow"));
  for (const char* path :
       {"/jobs/a", "/jobs/a/trials/1", "/compare?jobs=a,b", "/workers", "/login", "/new"}) {
    CHECK(play.Ask("GET", path).body == index.body);
  }
  for (const char* path : {"/", "/v1/tuning-jobs", "/v1/nothing", "/healthz", "/assets/none.js"}) {
    INFO(path);
    const HttpReply reply = play.Ask("GET", path);
    CHECK_THAT(reply.headers.at("content-security-policy"),
               Catch::Contains("script-src 'self';") && Catch::Contains("frame-ancestors 'none'"));
    CHECK(reply.headers.at("x-content-type-options") == "nosniff");
    CHECK(reply.headers.at("referrer-policy") == "no-referrer");
  }
  CHECK(play.Ask("GET", "/", "", {{"If-None-Match", index.headers.at("etag")}}).status == 304);
  CHECK(play.Ask("POST", "/jobs/a", "{}").status == 405);
  CHECK(play.Ask("GET", "/../secret").status == 400);
  CHECK(play.Ask("GET", "/assets/%2e%2e/index.html").status == 400);
}

TEST_CASE("Pages: all that are built in have a type, and nothing stands in the page that its policy forbids",
          "[http]") {
  REQUIRE_FALSE(PageFiles().empty());
  for (const PageFile& file : PageFiles()) {
    INFO(file.path);
    CHECK(file.type != "application/octet-stream");
    CHECK(file.bytes.size() > 0);
    if (file.path != "index.html") continue;
    CHECK(file.bytes.find("<script>") == std::string_view::npos);
    CHECK(file.bytes.find("<style") == std::string_view::npos);
    CHECK(file.bytes.find("style=") == std::string_view::npos);
    CHECK(file.bytes.find("https://") == std::string_view::npos);
  }
}

}  // namespace
}  // namespace winnow
