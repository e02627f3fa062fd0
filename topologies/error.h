/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What is wrong with something a user wrote: where, the bad value, and what is allowed.
 */
#ifndef TOPOLOGIES_ERROR_H
#define TOPOLOGIES_ERROR_H

#include <cstdio>
#include <string>

namespace topo
{

struct Error
{
    std::string field; ///< an option ("k"), a JSON path ("/links/3/rate") or a line ("fat.txt:12")
    std::string value; ///< as written, printable, quoted if a text; empty if the mistake is that it
                       ///< is missing
    std::string message; ///< reads on after the value: "is not a rate such as 100Gbps"; a whole
                         ///< sentence if there is no value
    std::string file;    ///< for a JSON path: the file it is in; else empty
};

/// `net.json: /links/3/rate: "100Gbs" is not a rate such as 100Gbps, 25Gb/s or 400G`: one line.
inline std::string
ToString(const Error& e)
{
    return (e.file.empty() ? "" : e.file + ": ") + (e.field.empty() ? "" : e.field + ": ") +
           (e.value.empty() ? "" : e.value + " ") + e.message;
}

/// `"text"`, shortened, with unprintable bytes as \xNN: what a file holds is shown, but never sent
/// to the terminal as it is.
inline std::string
Quoted(const std::string& text)
{
    constexpr size_t kLongest = 60;
    std::string out = "\"";
    for (size_t i = 0; i < text.size() && i < kLongest; ++i)
    {
        const unsigned char c = static_cast<unsigned char>(text[i]);
        if (c >= 0x20 && c < 0x7f)
        {
            out += static_cast<char>(c);
            continue;
        }
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\x%02x", c);
        out += escaped;
    }
    return out + (text.size() > kLongest ? "...\"" : "\"");
}

} // namespace topo

#endif // TOPOLOGIES_ERROR_H
