/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/formats/xml-reader.h"

#include "topologies/error.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace topo
{

const std::string&
XmlPart::Attribute(const char* name) const
{
    static const std::string none;
    const auto found = std::find_if(attributes.begin(), attributes.end(), [&](const auto& one) {
        return one.first == name;
    });
    return found == attributes.end() ? none : found->second;
}

XmlPart
XmlReader::Wrong(const std::string& problem) const
{
    XmlPart part;
    part.kind = XmlKind::kWrong;
    part.text = problem;
    part.line = m_line;
    return part;
}

bool
XmlReader::Starts(std::string_view with) const
{
    return m_text.substr(m_at, with.size()) == with;
}

void
XmlReader::Advance(std::size_t by)
{
    const std::size_t end = std::min(m_at + by, m_text.size());
    m_line += static_cast<uint32_t>(std::count(m_text.begin() + static_cast<std::ptrdiff_t>(m_at),
                                               m_text.begin() + static_cast<std::ptrdiff_t>(end),
                                               '\n'));
    m_at = end;
}

bool
XmlReader::SkipBehind(std::string_view end)
{
    const std::size_t found = m_text.find(end, m_at);
    if (found == std::string_view::npos)
    {
        Advance(m_text.size());
        return false;
    }
    Advance(found + end.size() - m_at);
    return true;
}

void
XmlReader::SkipSpace()
{
    while (m_at < m_text.size() && std::isspace(static_cast<unsigned char>(m_text[m_at])))
    {
        Advance(1);
    }
}

std::string
XmlReader::Name()
{
    const std::size_t from = m_at;
    while (m_at < m_text.size() &&
           (std::isalnum(static_cast<unsigned char>(m_text[m_at])) || m_text[m_at] == '_' ||
            m_text[m_at] == '.' || m_text[m_at] == ':' || m_text[m_at] == '-' ||
            static_cast<unsigned char>(m_text[m_at]) >= 0x80))
    {
        ++m_at;
    }
    return std::string(m_text.substr(from, m_at - from));
}

namespace
{

std::string
WithoutPrefix(const std::string& name)
{
    const std::size_t colon = name.rfind(':');
    return colon == std::string::npos ? name : name.substr(colon + 1);
}

} // namespace

bool
XmlReader::Resolve(std::string_view raw, std::string* text)
{
    struct Entity
    {
        std::string_view name;
        char character;
    };

    static constexpr Entity kEntities[] = {{"lt", '<'},
                                           {"gt", '>'},
                                           {"amp", '&'},
                                           {"quot", '"'},
                                           {"apos", '\''}};
    for (std::size_t i = 0; i < raw.size(); ++i)
    {
        if (raw[i] != '&')
        {
            *text += raw[i];
            continue;
        }
        const std::size_t end = raw.find(';', i);
        if (end == std::string_view::npos)
        {
            return false;
        }
        const std::string_view name = raw.substr(i + 1, end - i - 1);
        i = end;
        const auto known = std::find_if(std::begin(kEntities),
                                        std::end(kEntities),
                                        [&](const Entity& e) { return e.name == name; });
        if (known != std::end(kEntities))
        {
            *text += known->character;
            continue;
        }
        const bool hexadecimal = name.substr(0, 2) == "#x";
        if (name.empty() || name[0] != '#')
        {
            return false;
        }
        uint32_t code = 0;
        const char* const begin = name.data() + (hexadecimal ? 2 : 1);
        const char* const stop = name.data() + name.size();
        const auto [at, bad] = std::from_chars(begin, stop, code, hexadecimal ? 16 : 10);
        if (bad != std::errc() || at != stop || begin == stop)
        {
            return false;
        }
        *text += code >= 0x20 && code < 0x7f ? static_cast<char>(code) : '?';
    }
    return true;
}

bool
XmlReader::SkipDoctype()
{
    std::size_t open = 0; // [ of declarations
    while (m_at < m_text.size())
    {
        const char c = m_text[m_at];
        Advance(1);
        open += c == '[' ? 1 : 0;
        open -= c == ']' && open ? 1 : 0;
        if (c == '>' && !open)
        {
            return true;
        }
    }
    return false;
}

XmlPart
XmlReader::ReadTag()
{
    XmlPart part;
    part.line = m_line;
    ++m_at;
    const bool closes = Starts("/");
    m_at += closes ? 1 : 0;
    part.kind = closes ? XmlKind::kClose : XmlKind::kOpen;
    part.text = WithoutPrefix(Name());
    if (part.text.empty())
    {
        return Wrong("has no name behind <");
    }
    while (true)
    {
        SkipSpace();
        if (Starts(">"))
        {
            ++m_at;
            return part;
        }
        if (Starts("/>") && !closes)
        {
            m_at += 2;
            m_closes = true;
            m_opened = part.text;
            return part;
        }
        const std::string name = Name();
        SkipSpace();
        if (name.empty() || !Starts("="))
        {
            return Wrong("has no attribute or > in the tag of " + Quoted(part.text));
        }
        ++m_at;
        SkipSpace();
        const char quote = m_at < m_text.size() ? m_text[m_at] : '\0';
        const std::size_t end =
            quote == '"' || quote == '\'' ? m_text.find(quote, m_at + 1) : std::string_view::npos;
        std::string value;
        if (end == std::string_view::npos ||
            !Resolve(m_text.substr(m_at + 1, end - m_at - 1), &value))
        {
            return Wrong("has no value of the attribute " + Quoted(name));
        }
        Advance(end + 1 - m_at);
        part.attributes.emplace_back(name, value);
    }
}

XmlPart
XmlReader::Next()
{
    if (m_closes)
    {
        m_closes = false;
        XmlPart part;
        part.kind = XmlKind::kClose;
        part.text = m_opened;
        part.line = m_line;
        return part;
    }
    XmlPart text;
    text.kind = XmlKind::kText;
    text.line = m_line;
    while (m_at < m_text.size())
    {
        if (!Starts("<"))
        {
            const std::size_t end = std::min(m_text.find('<', m_at), m_text.size());
            if (!Resolve(m_text.substr(m_at, end - m_at), &text.text))
            {
                return Wrong("has an unknown entity");
            }
            Advance(end - m_at);
            return text;
        }
        if (Starts("<![CDATA["))
        {
            const std::size_t begin = m_at + 9;
            const std::size_t end = m_text.find("]]>", begin);
            if (end == std::string_view::npos)
            {
                return Wrong("has a CDATA section without end");
            }
            text.text = m_text.substr(begin, end - begin);
            Advance(end + 3 - m_at);
            return text;
        }
        const bool skipped = Starts("<!--") ? SkipBehind("-->")
                             : Starts("<?") ? SkipBehind("?>")
                             : Starts("<!") ? SkipDoctype()
                                            : false;
        if (skipped)
        {
            continue;
        }
        return Starts("<") && !Starts("<!") && !Starts("<?") ? ReadTag()
                                                             : Wrong("has a part without end");
    }
    XmlPart end;
    end.line = m_line;
    return end;
}

} // namespace topo
