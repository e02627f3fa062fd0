/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/json-builder.h"

#include "topologies/json-text.h"

#include <utility>

namespace topo
{

using nlohmann::json;

bool
JsonBuilder::Read(const std::string& text)
{
    m_text = &text;
    return json::sax_parse(text, static_cast<nlohmann::json_sax<json>*>(this)) && !m_stopped;
}

json*
JsonBuilder::Put(json value)
{
    if (m_open.empty())
    {
        m_root = std::move(value);
        return &m_root;
    }
    json& into = *m_open.back();
    if (into.is_array())
    {
        auto& list = into.get_ref<json::array_t&>();
        list.push_back(std::move(value));
        return &list.back();
    }
    *m_member = std::move(value);
    return m_member;
}

void
JsonBuilder::Ended()
{
    if (m_open.empty() || !m_open.back()->is_array())
    {
        return;
    }
    auto& list = m_open.back()->get_ref<json::array_t&>();
    if (!OnElement(static_cast<int>(m_open.size()), list.back()))
    {
        list.pop_back();
    }
}

bool
JsonBuilder::Scalar(json value)
{
    if (!m_stopped)
    {
        Put(std::move(value));
        Ended();
    }
    return true;
}

/// \return true: the parser goes on
bool
JsonBuilder::Stop(bool goOn)
{
    m_stopped = m_stopped || !goOn;
    return true;
}

bool
JsonBuilder::Open(json value)
{
    if (m_stopped)
    {
        return true;
    }
    // A list may move its elements only while none of them is open: the last one is.
    m_open.push_back(Put(std::move(value)));
    return Stop(OnOpen(static_cast<int>(m_open.size())));
}

bool
JsonBuilder::Close()
{
    if (!m_stopped)
    {
        m_open.pop_back();
        Ended();
    }
    return true;
}

bool
JsonBuilder::null()
{
    return Scalar(nullptr);
}

bool
JsonBuilder::boolean(bool value)
{
    return Scalar(value);
}

bool
JsonBuilder::number_integer(number_integer_t value)
{
    return Scalar(value);
}

bool
JsonBuilder::number_unsigned(number_unsigned_t value)
{
    return Scalar(value);
}

bool
JsonBuilder::number_float(number_float_t value, const std::string&)
{
    return Scalar(value);
}

bool
JsonBuilder::string(std::string& value)
{
    return Stop(m_stopped || OnText(value)) && Scalar(std::move(value));
}

bool
JsonBuilder::binary(binary_t&)
{
    return false; // text has none
}

bool
JsonBuilder::start_object(std::size_t)
{
    return Open(json::object());
}

bool
JsonBuilder::key(std::string& name)
{
    if (m_stopped)
    {
        return true;
    }
    const auto [member, isNew] =
        m_open.back()->get_ref<json::object_t&>().emplace(name, json(nullptr));
    m_member = &member->second;
    return Stop(OnKey(static_cast<int>(m_open.size()), name, !isNew));
}

bool
JsonBuilder::end_object()
{
    return Close();
}

bool
JsonBuilder::start_array(std::size_t)
{
    return Open(json::array());
}

bool
JsonBuilder::end_array()
{
    return Close();
}

bool
JsonBuilder::parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error)
{
    m_reason = JsonReason(error.what());
    m_byte = JsonByte(error, *m_text);
    return false;
}

} // namespace topo
