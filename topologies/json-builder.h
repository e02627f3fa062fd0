/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * JSON text to a value, in time that grows with the text. nlohmann's parser with a callback looks
 * through a list again for each object in it: 100,000 nodes of a network took 11 s.
 */
#ifndef TOPOLOGIES_JSON_BUILDER_H
#define TOPOLOGIES_JSON_BUILDER_H

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace topo
{

/// Builds the value of a text. The hooks of derived classes see it while it grows.
class JsonBuilder : private nlohmann::json_sax<nlohmann::json>
{
  public:
    using json = nlohmann::json;

    ~JsonBuilder() override = default;

    /// \return whether the text is JSON, and no hook has stopped building. Then the rest is still
    /// checked: without a Reason() it is JSON
    bool Read(const std::string& text);

    json Take()
    {
        return std::move(m_root);
    }

    /// JsonReason of malformed text; empty: it is fine.
    const std::string& Reason() const
    {
        return m_reason;
    }

    /// Its byte, counted from 0.
    std::size_t Byte() const
    {
        return m_byte;
    }

  protected:
    /// A key of an object. \param depth of the object, 1 is the root's \param again whether the
    /// object has it \return whether to go on building
    virtual bool OnKey(int /* depth */, const std::string& /* key */, bool /* again */)
    {
        return true;
    }

    /// A text that is a value.
    virtual bool OnText(const std::string& /* text */)
    {
        return true;
    }

    /// An object or list begins. \param depth of what is in it
    virtual bool OnOpen(int /* depth */)
    {
        return true;
    }

    /// An element of a list is complete. \param depth of the list's elements \return whether to
    /// keep it
    virtual bool OnElement(int /* depth */, const json& /* element */)
    {
        return true;
    }

  private:
    bool null() override;
    bool boolean(bool value) override;
    bool number_integer(number_integer_t value) override;
    bool number_unsigned(number_unsigned_t value) override;
    bool number_float(number_float_t value, const std::string& text) override;
    bool string(std::string& value) override;
    bool binary(binary_t& value) override;
    bool start_object(std::size_t elements) override;
    bool key(std::string& name) override;
    bool end_object() override;
    bool start_array(std::size_t elements) override;
    bool end_array() override;
    bool parse_error(std::size_t position,
                     const std::string& token,
                     const nlohmann::detail::exception& error) override;

    json* Put(json value);
    bool Scalar(json value);
    bool Stop(bool goOn);
    bool Open(json value);
    bool Close();
    /// What has been put last into a list stays, or does not.
    void Ended();

    const std::string* m_text = nullptr;
    json m_root;
    std::vector<json*> m_open; ///< objects and lists that are not complete
    json* m_member = nullptr;  ///< where the value of the last key belongs
    bool m_stopped = false;
    std::string m_reason;
    std::size_t m_byte = 0;
};

} // namespace topo

#endif // TOPOLOGIES_JSON_BUILDER_H
