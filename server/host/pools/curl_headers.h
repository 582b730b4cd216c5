#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

namespace winnow {

// The headers of a request of libcurl's.
class CurlHeaders {
 public:
  void Add(const std::string& line) {
    curl_slist* longer = curl_slist_append(list_.get(), line.c_str());
    if (longer == nullptr) return;
    static_cast<void>(list_.release());
    list_.reset(longer);
  }
  // For CURLOPT_HTTPHEADER; this object owns it.
  curl_slist* get() const { return list_.get(); }

 private:
  struct End {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  std::unique_ptr<curl_slist, End> list_;
};

}  // namespace winnow
