#pragma once

#include <string_view>
#include <vector>

#include "server/http/message.h"

namespace winnow {

// A file of the web page, embedded in the program.
struct PageFile {
  std::string_view path;  // "assets/index-4f2a.js"
  std::string_view type;  // "text/javascript; charset=utf-8"
  std::string_view tag;   // hash of these bytes: hexadecimal
  std::string_view bytes;
  std::string_view gzip;  // compressed; "" where that gains nothing
};

// All files; without an embedded page (see dashboard/CMakeLists.txt), an index.html that says how to get it.
const std::vector<PageFile>& PageFiles();

// Returns the answer to GET or HEAD of a path: the file; index.html for any other path, because the page
// routes paths itself; 404 below /assets/. Assets have content hashes in their names and are cached for ever;
// all other files are revalidated by their tag.
HttpAnswer AnswerPage(const std::vector<PageFile>& files, std::string_view path, const HttpRequest& request);

}  // namespace winnow
