#include "base/environment.h"

#include <stdlib.h>

#include <map>
#include <string>

#include "tests/catch.h"

namespace winnow {
namespace {

// Sets the variables for as long as it lives; "": without that variable.
class Variables {
 public:
  explicit Variables(const std::map<std::string, std::string>& values) {
    for (const auto& [name, value] : values) {
      before_[name] = EnvironmentVariable(name.c_str());
      Set(name, value);
    }
  }
  ~Variables() {
    for (const auto& [name, value] : before_) Set(name, value);
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  static void Set(const std::string& name, const std::string& value) {
    value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
  }
  std::map<std::string, std::string> before_;
};

TEST_CASE("UserCacheFolder: what is set first counts, a relative path does not", "[base]") {
  const auto folder = [](const char* own, const char* cache, const char* home) {
    const Variables variables({{"WINNOW_CACHE_DIR", own}, {"XDG_CACHE_HOME", cache}, {"HOME", home}});
    return UserCacheFolder();
  };
  CHECK(folder("/fast", "/cache", "/home/ana") == "/fast");
  CHECK(folder("off", "/cache", "/home/ana") == "");
  CHECK(folder("", "/cache", "/home/ana") == "/cache/winnow");
  CHECK(folder("", "cache", "/home/ana") == "/home/ana/.cache/winnow");
  CHECK(folder("", "", "home") == std::nullopt);
}

TEST_CASE("TakeEnvironmentVariable: nobody else finds the value", "[base]") {
  char secret[] = "WINNOW_TEST_SECRET=s3cret";
  REQUIRE(putenv(secret) == 0);
  CHECK(TakeEnvironmentVariable("WINNOW_TEST_SECRET") == "s3cret");
  CHECK(TakeEnvironmentVariable("WINNOW_TEST_SECRET").empty());
  CHECK(std::string(secret) == "WINNOW_TEST_SECRET=");
}

TEST_CASE("BootId: a UUID, without its line end", "[base]") { CHECK(BootId().size() == 36); }

}  // namespace
}  // namespace winnow
