#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

// Writes an XML document; texts are escaped, and characters that XML does not have are replaced.
class XmlWriter {
 public:
  // Begins the root element.
  explicit XmlWriter(const std::string& root, const std::string& name_space = "");
  ~XmlWriter();
  XmlWriter(const XmlWriter&) = delete;
  XmlWriter& operator=(const XmlWriter&) = delete;

  void Open(const std::string& element);
  void Close();
  void Add(const std::string& element, const std::string& text);
  // Ends the root; the writer is not used after it.
  std::string Finish();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// An element that was read, without attributes and namespaces.
struct XmlElement {
  std::string name;
  std::string text;
  std::vector<XmlElement> children;

  // The text of the first child of this name; "" if there is none.
  std::string TextOf(std::string_view child) const;
};

// MalformedXML: no XML, deeper than 16 elements, or with a document type, whose entities are never read.
absl::StatusOr<XmlElement> ParseXml(std::string_view text);

}  // namespace winnow
