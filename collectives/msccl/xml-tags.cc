/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/msccl/xml-tags.h"

#include <algorithm>

namespace coll
{

namespace
{

constexpr std::size_t kMostAttributes = 64;
constexpr std::string_view kSpace = " \t\r\n";

bool
IsNameStart(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool
IsName(char c)
{
    return IsNameStart(c) || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == ':';
}

} // namespace

XmlTags::XmlTags(std::string_view text)
    : m_text(text)
{
    if (StartsWith("\xEF\xBB\xBF"))
    {
        m_at = 3;
    }
}

void
XmlTags::Go(std::size_t characters)
{
    const std::string_view passed = m_text.substr(m_at, characters);
    m_line += static_cast<uint32_t>(std::count(passed.begin(), passed.end(), '\n'));
    m_at += passed.size();
}

void
XmlTags::SkipSpace()
{
    const std::size_t end = std::min(m_text.find_first_not_of(kSpace, m_at), m_text.size());
    Go(end - m_at);
}

bool
XmlTags::SkipBehind(std::string_view end)
{
    const std::size_t found = m_text.find(end, m_at);
    if (found == std::string_view::npos)
    {
        return false;
    }
    Go(found - m_at + end.size());
    return true;
}

bool
XmlTags::StartsWith(std::string_view begin) const
{
    return m_text.substr(m_at, begin.size()) == begin;
}

std::string_view
XmlTags::Name()
{
    std::size_t end = m_at;
    if (end < m_text.size() && IsNameStart(m_text[end]))
    {
        while (end < m_text.size() && IsName(m_text[end]))
        {
            ++end;
        }
    }
    const std::string_view name = m_text.substr(m_at, end - m_at);
    m_at = end;
    return name;
}

bool
XmlTags::Value(std::string* value, std::string* error)
{
    const char quote = m_at < m_text.size() ? m_text[m_at] : ' ';
    if (quote != '"' && quote != '\'')
    {
        *error = "an attribute without a value in quotes";
        return false;
    }
    const std::size_t begin = m_at + 1;
    const std::size_t end = m_text.find(quote, begin);
    if (end == std::string_view::npos ||
        m_text.substr(begin, end - begin).find('<') != std::string_view::npos)
    {
        *error = "a value whose quotes are not closed";
        return false;
    }
    constexpr std::pair<std::string_view, char> entities[] = {{"&amp;", '&'},
                                                              {"&lt;", '<'},
                                                              {"&gt;", '>'},
                                                              {"&quot;", '"'},
                                                              {"&apos;", '\''}};
    for (std::size_t i = begin; i < end; ++i)
    {
        if (m_text[i] != '&')
        {
            value->push_back(m_text[i]);
            continue;
        }
        const auto* entity = std::find_if(std::begin(entities), std::end(entities), [&](auto& e) {
            return m_text.substr(i, e.first.size()) == e.first;
        });
        if (entity == std::end(entities))
        {
            *error = "an entity that is none of &amp; &lt; &gt; &quot; &apos;";
            return false;
        }
        value->push_back(entity->second);
        i += entity->first.size() - 1;
    }
    Go(end + 1 - m_at);
    return true;
}

bool
XmlTags::Attributes(XmlTag* tag, std::string* error)
{
    while (true)
    {
        const std::size_t before = m_at;
        SkipSpace();
        if (m_at >= m_text.size() || StartsWith(">") || StartsWith("/>"))
        {
            return true;
        }
        const std::string_view name = Name();
        if (name.empty() || m_at == before + name.size())
        {
            *error = "a tag that is not closed, or no name of an attribute";
            return false;
        }
        const bool twice = std::any_of(tag->attributes.begin(),
                                       tag->attributes.end(),
                                       [&](const auto& a) { return a.first == name; });
        if (twice || tag->attributes.size() == kMostAttributes)
        {
            *error = twice ? "an attribute twice: " + std::string(name)
                           : "more than " + std::to_string(kMostAttributes) + " attributes";
            return false;
        }
        SkipSpace();
        if (!StartsWith("="))
        {
            *error = "an attribute without a value in quotes";
            return false;
        }
        Go(1);
        SkipSpace();
        tag->attributes.emplace_back(name, std::string());
        if (!Value(&tag->attributes.back().second, error))
        {
            return false;
        }
    }
}

bool
XmlTags::Next(XmlTag* tag, std::string* error)
{
    *tag = XmlTag();
    while (true)
    {
        SkipSpace();
        tag->line = m_line;
        if (m_at >= m_text.size())
        {
            return true;
        }
        if (!StartsWith("<"))
        {
            *error = "text where a tag is needed";
            return false;
        }
        const bool comment = StartsWith("<!--");
        if (!comment && !StartsWith("<?"))
        {
            break;
        }
        Go(comment ? 4 : 2);
        if (!SkipBehind(comment ? "-->" : "?>"))
        {
            *error = comment ? "a comment that is not closed" : "an instruction that is not closed";
            return false;
        }
    }
    Go(1);
    const bool closes = StartsWith("/");
    Go(closes ? 1 : 0);
    tag->name = Name();
    if (tag->name.empty())
    {
        *error = "no name of a tag behind <";
        return false;
    }
    if (!Attributes(tag, error))
    {
        return false;
    }
    const bool empty = StartsWith("/>");
    if (m_at >= m_text.size() || (closes && (empty || !tag->attributes.empty())))
    {
        *error = "a tag that is not closed";
        return false;
    }
    tag->kind = closes ? XmlTag::Kind::kClose : empty ? XmlTag::Kind::kEmpty : XmlTag::Kind::kOpen;
    Go(empty ? 2 : 1);
    return true;
}

} // namespace coll
