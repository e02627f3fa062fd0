/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_JOB_FLOW_TAG_H
#define SCENARIOS_JOB_FLOW_TAG_H

#include <mutex>
#include <set>
#include <string>

namespace scenario
{

/// The tag of a flow: a text that many flows share, of which each keeps a pointer only. Flows are
/// millions, and tags a handful.
class FlowTag
{
  public:
    FlowTag()
        : FlowTag(std::string())
    {
    }

    FlowTag(const std::string& text)
        : m_text(Shared(text))
    {
    }

    FlowTag(const char* text)
        : FlowTag(std::string(text))
    {
    }

    const std::string& Text() const
    {
        return *m_text;
    }

    bool operator==(const FlowTag& other) const
    {
        return m_text == other.m_text;
    }

    bool operator!=(const FlowTag& other) const
    {
        return m_text != other.m_text;
    }

  private:
    /// \return the one text that equals it; it lives as long as the program
    static const std::string* Shared(const std::string& text)
    {
        static std::mutex mutex;
        static std::set<std::string>& all = *new std::set<std::string>;
        const std::lock_guard<std::mutex> lock(mutex);
        return &*all.insert(text).first;
    }

    const std::string* m_text;
};

} // namespace scenario

#endif // SCENARIOS_JOB_FLOW_TAG_H
