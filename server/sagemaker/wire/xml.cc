#include "server/sagemaker/wire/xml.h"

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/xmlwriter.h>

#include "base/utf8.h"
#include "server/sagemaker/wire/aws_error.h"

namespace winnow {
namespace {

constexpr int kDeepest = 16;

const xmlChar* Chars(const std::string& text) { return reinterpret_cast<const xmlChar*>(text.c_str()); }

std::string TextOf(const xmlChar* text) { return text == nullptr ? "" : reinterpret_cast<const char*>(text); }

// False: deeper than allowed.
bool ReadElement(const xmlNode* node, int depth, XmlElement& element) {
  if (depth > kDeepest) return false;
  element.name = TextOf(node->name);
  for (const xmlNode* child = node->children; child != nullptr; child = child->next) {
    if (child->type == XML_TEXT_NODE || child->type == XML_CDATA_SECTION_NODE)
      element.text += TextOf(child->content);
    if (child->type == XML_ELEMENT_NODE && !ReadElement(child, depth + 1, element.children.emplace_back()))
      return false;
  }
  return true;
}

// XML has no control characters but tab and line ends.
std::string Writable(const std::string& text) {
  std::string writable;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t length = Utf8Length(rest);
    const auto first = static_cast<unsigned char>(rest[0]);
    const bool control = first < 0x20 && first != '\t' && first != '\n' && first != '\r';
    writable += length == 0 || control ? "?" : std::string(rest.substr(0, length));
    rest.remove_prefix(length == 0 ? 1 : length);
  }
  return writable;
}

}  // namespace

struct XmlWriter::Parts {
  xmlBufferPtr buffer = xmlBufferCreate();
  xmlTextWriterPtr writer = xmlNewTextWriterMemory(buffer, 0);
  ~Parts() {
    if (writer != nullptr) xmlFreeTextWriter(writer);
    xmlBufferFree(buffer);
  }
};

XmlWriter::XmlWriter(const std::string& root, const std::string& name_space)
    : parts_(std::make_unique<Parts>()) {
  xmlTextWriterStartDocument(parts_->writer, nullptr, "UTF-8", nullptr);
  Open(root);
  if (!name_space.empty()) xmlTextWriterWriteAttribute(parts_->writer, Chars("xmlns"), Chars(name_space));
}

XmlWriter::~XmlWriter() = default;

void XmlWriter::Open(const std::string& element) {
  xmlTextWriterStartElement(parts_->writer, Chars(element));
}

void XmlWriter::Close() { xmlTextWriterEndElement(parts_->writer); }

void XmlWriter::Add(const std::string& element, const std::string& text) {
  xmlTextWriterWriteElement(parts_->writer, Chars(element), Chars(Writable(text)));
}

std::string XmlWriter::Finish() {
  xmlTextWriterEndDocument(parts_->writer);
  xmlTextWriterFlush(parts_->writer);
  return {reinterpret_cast<const char*>(xmlBufferContent(parts_->buffer)),
          static_cast<size_t>(xmlBufferLength(parts_->buffer))};
}

std::string XmlElement::TextOf(std::string_view child) const {
  for (const XmlElement& each : children) {
    if (each.name == child) return each.text;
  }
  return "";
}

absl::StatusOr<XmlElement> ParseXml(std::string_view text) {
  const absl::Status malformed = AwsError(
      "MalformedXML", "The XML you provided was not well-formed or did not validate against our schema.");
  const std::unique_ptr<xmlDoc, decltype(&xmlFreeDoc)> document(
      xmlReadMemory(text.data(), static_cast<int>(text.size()), nullptr, nullptr,
                    XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING),
      &xmlFreeDoc);
  if (document == nullptr || xmlGetIntSubset(document.get()) != nullptr) return malformed;
  const xmlNode* root = xmlDocGetRootElement(document.get());
  XmlElement element;
  if (root == nullptr || !ReadElement(root, 1, element)) return malformed;
  return element;
}

}  // namespace winnow
