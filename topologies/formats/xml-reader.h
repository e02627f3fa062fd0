/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * XML, one tag or text after the other. It keeps no tree and calls nothing that nests, so that no
 * file can exhaust the stack; entities of a file's own are errors, so that none can grow.
 */
#ifndef TOPOLOGIES_FORMATS_XML_READER_H
#define TOPOLOGIES_FORMATS_XML_READER_H

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace topo
{

enum class XmlKind : uint8_t
{
    kOpen,
    kClose,
    kText,
    kEnd,
    kWrong
};

struct XmlPart
{
    XmlKind kind = XmlKind::kEnd;
    std::string text; ///< an element's name without its prefix ("y:"), a text, what is wrong
    std::vector<std::pair<std::string, std::string>> attributes;
    uint32_t line = 1;

    /// Empty if there is none.
    const std::string& Attribute(const char* name) const;
};

class XmlReader
{
  public:
    explicit XmlReader(std::string_view text)
        : m_text(text)
    {
    }

    /// An element without content comes as kOpen, then kClose. Whether names match, the reader does
    /// not check.
    XmlPart Next();

  private:
    XmlPart Wrong(const std::string& problem) const;
    bool Starts(std::string_view with) const;
    void Advance(std::size_t by);
    /// Behind the next `end`. \return false at the end of the text
    bool SkipBehind(std::string_view end);
    void SkipSpace();
    std::string Name();
    XmlPart ReadTag();
    bool SkipDoctype();
    /// A text with its entities resolved. \return false if one is unknown
    static bool Resolve(std::string_view raw, std::string* text);

    std::string_view m_text;
    std::size_t m_at = 0;
    uint32_t m_line = 1;
    bool m_closes = false; ///< the element just opened has no content
    std::string m_opened;
};

} // namespace topo

#endif // TOPOLOGIES_FORMATS_XML_READER_H
