/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The tags of an XML file one after the other, with the lines they stand in: as much of XML as
 * files of settings need. Comments and processing instructions are passed over; text between tags,
 * a DOCTYPE and entities but the five of XML are errors. Nothing is nested here, so nothing grows
 * with the file.
 */
#ifndef COLLECTIVES_MSCCL_XML_TAGS_H
#define COLLECTIVES_MSCCL_XML_TAGS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coll
{

struct XmlTag
{
    enum class Kind : uint8_t
    {
        kOpen,
        kEmpty, ///< opened and closed: <a/>
        kClose,
        kEnd, ///< end of the file
    };

    Kind kind = Kind::kEnd;
    std::string_view name;
    std::vector<std::pair<std::string_view, std::string>> attributes; ///< no name twice
    uint32_t line = 0;                                                ///< from 1 on
};

class XmlTags
{
  public:
    /// \param text must outlive this object and its results
    explicit XmlTags(std::string_view text);

    /// The next tag. \return false after an error; its text is in *error, its line is Line()
    bool Next(XmlTag* tag, std::string* error);

    uint32_t Line() const
    {
        return m_line;
    }

  private:
    void SkipSpace();
    /// Goes past `end`; false: there is none.
    bool SkipBehind(std::string_view end);
    bool StartsWith(std::string_view begin) const;
    std::string_view Name();
    bool Attributes(XmlTag* tag, std::string* error);
    bool Value(std::string* value, std::string* error);
    void Go(std::size_t characters);

    std::string_view m_text;
    std::size_t m_at = 0;
    uint32_t m_line = 1;
};

} // namespace coll

#endif // COLLECTIVES_MSCCL_XML_TAGS_H
