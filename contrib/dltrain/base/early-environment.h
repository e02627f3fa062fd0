/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * For the file with a program's main, once: a check that runs before the constructors of the
 * libraries. One of ns-3's reads RngSeed and RngRun of NS_GLOBAL_VALUE and aborts where the text is
 * no integer. All other text in it is checked later: TakeNs3Environment in ns3-settings.h.
 */
#ifndef DLTRAIN_EARLY_ENVIRONMENT_H
#define DLTRAIN_EARLY_ENVIRONMENT_H

#include <cstring>
#include <initializer_list>
#include <unistd.h>

namespace dltrain
{

/// Nothing of the C library is set up yet: no allocation, no locale, no environ.
inline void
CheckEarlyEnvironment(int, char**, char** environment)
{
    static constexpr char VARIABLE[] = "NS_GLOBAL_VALUE=";
    const char* text = nullptr;
    for (; environment && *environment; ++environment)
    {
        if (std::strncmp(*environment, VARIABLE, sizeof VARIABLE - 1) == 0)
        {
            text = *environment + sizeof VARIABLE - 1;
        }
    }
    // "name=value;name=value"
    while (text && *text)
    {
        const char* const end = text + std::strcspn(text, ";");
        for (const char* name : {"RngSeed=", "RngRun="})
        {
            if (std::strncmp(text, name, std::strlen(name)) != 0)
            {
                continue;
            }
            const char* value = text + std::strlen(name);
            const char* digit = value;
            while (*digit >= '0' && *digit <= '9')
            {
                ++digit;
            }
            // An empty value and 0 are refused later, with more words; 19 digits fit 64 bits.
            if (digit == end && end - value <= 19)
            {
                continue;
            }
            const auto say = [](const char* words, std::size_t n) {
                return ::write(STDERR_FILENO, words, n) == static_cast<ssize_t>(n);
            };
            const long shown = end - value < 60 ? end - value : 60;
            static constexpr char BEFORE[] = "error: NS_GLOBAL_VALUE: ";
            static constexpr char AFTER[] = "' is no integer; allowed: 0 to 9999999999999999999\n";
            bool printable = true;
            for (long i = 0; i < shown; ++i)
            {
                printable &= value[i] >= ' ' && value[i] <= '~';
            }
            static_cast<void>(say(BEFORE, sizeof BEFORE - 1) && say(name, std::strlen(name)) &&
                              say("'", 1) &&
                              (!printable || say(value, static_cast<std::size_t>(shown))) &&
                              say(AFTER, sizeof AFTER - 1));
            ::_exit(2);
        }
        text = *end ? end + 1 : end;
    }
}

} // namespace dltrain

// Only programs have such a section. The dynamic linker calls the functions in it before all
// constructors.
__attribute__((section(".preinit_array"),
               used)) static void (*const g_checkEarlyEnvironment)(int, char**, char**) =
    dltrain::CheckEarlyEnvironment;

#endif // DLTRAIN_EARLY_ENVIRONMENT_H
