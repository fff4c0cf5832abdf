// Marks functions on the way of every launch: the linker puts them side by side, for the driver's own work drives them out
// of the caches each time, and a page of code that is not known costs as much as all that is done in it.
#pragma once

#define WEFT_HOT __attribute__((hot))
